"""VolumeAttachments by node."""

from __future__ import annotations

from collections import defaultdict

from kubesched.objects import PersistentVolume, VolumeAttachment
from kubesched.scheduler.columns import EVERYTHING, Follower
from kubesched.scheduler.framework import ObjectStores


class AttachmentsByNode:
    """What attachments say is on a node, whether or not a pod uses it there."""

    def __init__(self, objects: ObjectStores) -> None:
        self._attachments = objects.of(VolumeAttachment)
        self._volumes = objects.of(PersistentVolume)
        self._changes = Follower(self._attachments.changes)
        self._node_of: dict[str, str] = {}
        self._on_node: defaultdict[str, set[str]] = defaultdict(set)

    def refresh(self) -> set[str]:
        """Returns the names of the nodes whose attachments have changed since the last time."""
        changed = self._changes.changed()
        if changed is EVERYTHING:
            changed = [*self._node_of, *(attachment.metadata.name for attachment in self._attachments)]
        nodes: set[str] = set()
        for name in changed:
            old = self._node_of.pop(name, None)
            if old is not None:
                self._on_node[old].discard(name)
                nodes.add(old)
            attachment = self._attachments.get(name)
            if attachment is not None:
                node = self._node_of[name] = attachment.spec.node_name
                self._on_node[node].add(name)
                nodes.add(node)
        return nodes

    def on_node(self, name: str) -> tuple[dict[str, str], set[str]]:
        """Volume ids with their drivers, and the names of the persistent volumes that they were read from.

        Only CSI volumes count, and no inline ones (getNodeVolumeAttachmentInfo).
        """
        ids: dict[str, str] = {}
        read: set[str] = set()
        for key in self._on_node.get(name, ()):
            attachment = self._attachments.get(key)
            volume_name = attachment.spec.source.persistent_volume_name if attachment is not None else None
            if attachment is None or not attachment.spec.attacher or volume_name is None:
                continue
            read.add(volume_name)
            volume = self._volumes.get(volume_name)
            if volume is not None and volume.spec.csi is not None:
                ids[f"{attachment.spec.attacher}/{volume.spec.csi.volume_handle}"] = attachment.spec.attacher
        return ids, read
