"""What the volume plugins share: claims and classes, CSI migration, and CSINodes in columns. No plugin is here."""
