"""VolumeRestrictions: disks that one node mounts once, and claims that one pod uses alone."""

from kubesched.scheduler.plugins.volume_restrictions.plugin import VolumeRestrictions

__all__ = ["VolumeRestrictions"]
