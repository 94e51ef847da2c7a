//! Class descriptions.

use super::error::{JavaErrorKind, MAX_SUPERCLASSES};
use super::object::{Class, Node, NodeId};
use super::reader::{Read, Reader, primitive_size};
use super::text::JavaStr;

impl<'a> Reader<'a> {
    /// A class description with its superclasses; `None`: no class.
    pub(super) fn class_description(&mut self) -> Read<Option<NodeId>> {
        let mut first = None;
        let mut child: Option<NodeId> = None;
        loop {
            let (id, has_parent) = match self.u8()? {
                0x70 => (None, false),
                0x71 => {
                    let handle = self.back_reference()?;
                    let id = NodeId(handle);
                    if self.class(id).is_none() {
                        return Err(JavaErrorKind::WrongReference);
                    }
                    (Some(id), false)
                }
                0x72 => (Some(self.own_class()?), true),
                0x7D => (Some(self.proxy_class()?), true),
                tag => {
                    self.at -= 1;
                    return Err(JavaErrorKind::UnknownTag(tag));
                }
            };
            if let Some(child) = child
                && let Some(Node::Class(class)) = self.nodes.get_mut(child.0 as usize)
            {
                class.parent = id;
            }
            first = first.or(id);
            if !has_parent {
                return Ok(first);
            }
            child = id;
        }
    }

    fn own_class(&mut self) -> Read<NodeId> {
        let name = self.utf()?;
        let serial_version_uid = i64::from_be_bytes(self.array_of()?);
        let class = Class {
            name,
            serial_version_uid,
            flags: 0,
            fields: Vec::new(),
            parent: None,
        };
        let id = self.add(Node::Class(class), true)?;
        let flags = self.u8()?;
        let count = u16::from_be_bytes(self.array_of()?);
        let mut fields = Vec::new();
        for _ in 0..count {
            self.count_value(1)?;
            let kind = self.u8()?;
            let field = self.utf()?;
            match kind {
                b'L' | b'[' => {
                    self.string()?;
                }
                kind => {
                    primitive_size(kind)?;
                }
            }
            fields.push((kind, field));
        }
        self.class_annotation()?;
        if let Some(Node::Class(class)) = self.nodes.get_mut(id.0 as usize) {
            (class.flags, class.fields) = (flags, fields);
        }
        Ok(id)
    }

    fn proxy_class(&mut self) -> Read<NodeId> {
        let name = JavaStr::from_bytes(b"java.lang.reflect.Proxy");
        let class = Class {
            name,
            serial_version_uid: 0,
            flags: 2,
            fields: Vec::new(),
            parent: None,
        };
        let id = self.add(Node::Class(class), true)?;
        let count = self.i32()?;
        let n = usize::try_from(count).map_err(|_| JavaErrorKind::BadLength(count.into()))?;
        for _ in 0..n {
            self.count_value(1)?;
            self.utf()?;
        }
        self.class_annotation()?;
        Ok(id)
    }

    /// What class loaders may add; nobody but RMI does, so that only simple contents are taken.
    fn class_annotation(&mut self) -> Read<()> {
        loop {
            match self.peek()? {
                0x78 => {
                    self.at += 1;
                    return Ok(());
                }
                0x70 | 0x71 | 0x74 | 0x77 | 0x7A | 0x7C => {
                    self.content()?;
                }
                tag => return Err(JavaErrorKind::UnknownTag(tag)),
            }
        }
    }

    /// How many classes the chain has. A description can name itself as its superclass: refused.
    pub(super) fn levels(&self, class: NodeId) -> Read<u32> {
        let mut levels = 0u32;
        let mut next = Some(class);
        while let Some(id) = next {
            levels += 1;
            if levels > MAX_SUPERCLASSES {
                return Err(JavaErrorKind::TooManySuperclasses);
            }
            next = self.class(id).and_then(|class| class.parent);
        }
        Ok(levels)
    }
}
