"""What came of runs: the metrics of one or several, and their differences, as text, JSON, HTML and in notebooks.

    run       the outcome of one run: pods, samples over time; what a report is made from
    metrics   one run's outcome in numbers
    report    several runs side by side: differences, and whether they are more than chance
    text, html, charts    how a report looks

What does not belong here: how runs come about (`apps.replay` and others), and what they run on.
"""
