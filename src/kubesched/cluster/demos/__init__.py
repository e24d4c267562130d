"""Situations to begin with: `kubesched up --demo NAME`. A manifest starts with a comment that explains it."""
