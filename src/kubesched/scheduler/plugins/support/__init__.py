"""What several in-tree plugins share. No plugin is here, and nothing here imports one.

amounts, capacities, exact_sums   how much of a resource there is and is taken, per node, exact beyond 64 bits
resource_scoring, resource_shape  scores by how full a node is: the strategies, and shapes of utilization to score
normalize                         scores brought to 0..100
per_template                      what a plugin derives from a pod's template, remembered while the template lives
storage/                          claims and classes, CSI migration, CSINodes in columns
devices/                          which devices there are, who has them, and what selects them
"""
