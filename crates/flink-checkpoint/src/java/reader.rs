//! Reads one object from a Java serialization stream (protocol version 5). Iterative, so that no nesting can
//! exhaust the stack; no class is loaded, only what the stream says of itself is used.

use super::error::{JavaError, JavaErrorKind};
use super::object::{Class, Graph, Node, NodeId, Value, serializable};
use super::text::JavaStr;

pub(super) type Read<T> = Result<T, JavaErrorKind>;

/// The first handle that a stream assigns.
const FIRST_HANDLE: i32 = 0x7e_0000;
const WRITE_METHOD: u8 = 1;
const EXTERNALIZABLE: u8 = 4;
const BLOCK_DATA: u8 = 8;

/// Reads the first object of a stream; says how many bytes it has, header included.
///
/// `max_values` bounds objects, strings, classes, fields and elements together; memory stays below 100 bytes
/// for each. It is additionally bounded by the bytes at hand.
///
/// # Errors
/// The stream is damaged or holds more values. The offset is that from the beginning of `bytes`.
pub fn read_object(bytes: &[u8], max_values: usize) -> Result<(Graph<'_>, usize), JavaError> {
    let mut reader = Reader {
        bytes,
        at: 0,
        handles: Vec::new(),
        nodes: Vec::new(),
        open: Vec::new(),
        values: 0,
        max_values,
    };
    match reader.stream() {
        Ok(root) => Ok((
            Graph {
                nodes: reader.nodes,
                root,
            },
            reader.at,
        )),
        Err(kind) => Err(JavaError { kind, at: reader.at }),
    }
}

/// What is being read and isn't complete.
enum Open {
    /// An object: its classes, topmost first, lie in the graph; `level` counts down from the topmost.
    Object {
        node: u32,
        level: u32,
        field: u32,
        annotations: bool,
    },
    Array {
        node: u32,
        left: u32,
    },
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    /// What back references mean; a reset empties it.
    handles: Vec<u32>,
    pub(super) nodes: Vec<Node<'a>>,
    open: Vec<Open>,
    values: usize,
    max_values: usize,
}

impl<'a> Reader<'a> {
    fn stream(&mut self) -> Read<Value> {
        if self.take(4).ok() != Some(&[0xAC, 0xED, 0, 5]) {
            self.at = 0;
            return Err(JavaErrorKind::NoHeader);
        }
        let mut done = self.content()?;
        loop {
            let Some(open) = self.open.last_mut() else {
                return match done {
                    Some(value) => Ok(value),
                    None => Err(JavaErrorKind::EndOfStream),
                };
            };
            // A value that was completed belongs to what is open on top.
            if let Some(value) = done.take() {
                let (node, in_annotations) = match open {
                    Open::Object {
                        node,
                        annotations: true,
                        ..
                    } => (*node, true),
                    Open::Object { node, field, .. } => {
                        *field += 1;
                        (*node, false)
                    }
                    Open::Array { node, left } => {
                        *left -= 1;
                        (*node, false)
                    }
                };
                match &mut self.nodes[node as usize] {
                    Node::Object { annotations, .. } if in_annotations => annotations.push(value),
                    Node::Object { fields, .. } => fields.push(value),
                    Node::Array { values, .. } => values.push(value),
                    _ => {}
                }
            }
            done = self.go_on()?;
        }
    }

    /// One step of what is open on top. Gives a value that is complete, for what then lies on top.
    fn go_on(&mut self) -> Read<Option<Value>> {
        let (node, level, field, annotations) = match self.open.last() {
            None => return Ok(None),
            Some(&Open::Array { node, left: 0 }) => {
                self.open.pop();
                return Ok(Some(Value::Node(NodeId(node))));
            }
            Some(Open::Array { .. }) => return self.content(),
            Some(&Open::Object {
                node,
                level,
                field,
                annotations,
            }) => (node, level, field, annotations),
        };
        if annotations {
            if self.peek()? == 0x78 {
                self.at += 1;
                self.next_level(level);
                return Ok(None);
            }
            return self.content();
        }
        let Some(class) = self.class_at_level(node, level) else {
            self.open.pop();
            return Ok(Some(Value::Node(NodeId(node))));
        };
        let flags = class.flags;
        if serializable(class) {
            if let Some(&(kind, _)) = class.fields.get(field as usize) {
                return match kind {
                    b'L' | b'[' => self.content(),
                    kind => self.primitive(kind).map(Some),
                };
            }
        } else if flags & EXTERNALIZABLE != 0 && flags & BLOCK_DATA == 0 {
            return Err(JavaErrorKind::Externalizable);
        }
        let annotated = (serializable(class) && flags & WRITE_METHOD != 0) || flags & EXTERNALIZABLE != 0;
        if annotated {
            if let Some(Open::Object { annotations, .. }) = self.open.last_mut() {
                *annotations = true;
            }
        } else {
            self.next_level(level);
        }
        Ok(None)
    }

    fn next_level(&mut self, level: u32) {
        if let Some(Open::Object {
            level: now,
            field,
            annotations,
            ..
        }) = self.open.last_mut()
        {
            (*now, *field, *annotations) = (level.saturating_sub(1), 0, false);
        }
    }

    /// The class `level - 1` steps above the object's own; none at level 0: all are read.
    fn class_at_level(&self, node: u32, level: u32) -> Option<&Class<'a>> {
        let Node::Object { class, .. } = self.nodes.get(node as usize)? else {
            return None;
        };
        let mut class = self.class(*class)?;
        for _ in 1..level {
            class = self.class(class.parent?)?;
        }
        (level > 0).then_some(class)
    }

    pub(super) fn class(&self, id: NodeId) -> Option<&Class<'a>> {
        match self.nodes.get(id.0 as usize)? {
            Node::Class(class) => Some(class),
            _ => None,
        }
    }

    /// Reads one content. `None`: an object or array was opened, whose own values come next.
    pub(super) fn content(&mut self) -> Read<Option<Value>> {
        loop {
            let tag = self.u8()?;
            return Ok(Some(match tag {
                0x70 => {
                    self.count_value(1)?;
                    Value::Null
                }
                0x71 => {
                    self.count_value(1)?;
                    Value::Node(NodeId(self.back_reference()?))
                }
                0x72 | 0x7D => {
                    self.at -= 1;
                    match self.class_description()? {
                        Some(class) => Value::Node(class),
                        None => Value::Null,
                    }
                }
                0x73 => {
                    let class = self.class_description()?.ok_or(JavaErrorKind::UnknownTag(0x70))?;
                    let levels = self.levels(class)?;
                    let node = self.add(
                        Node::Object {
                            class,
                            fields: Vec::new(),
                            annotations: Vec::new(),
                        },
                        true,
                    )?;
                    self.open.push(Open::Object {
                        node: node.0,
                        level: levels,
                        field: 0,
                        annotations: false,
                    });
                    return Ok(None);
                }
                0x74 | 0x7C => {
                    self.at -= 1;
                    Value::Node(self.string()?.0)
                }
                0x75 => match self.array()? {
                    Some(value) => value,
                    None => return Ok(None),
                },
                0x76 => {
                    let class = self.class_description()?.ok_or(JavaErrorKind::UnknownTag(0x70))?;
                    Value::Node(self.add(Node::ClassObject { class }, true)?)
                }
                0x77 => {
                    let n = usize::from(self.u8()?);
                    let block = Node::Block(self.take(n)?);
                    Value::Node(self.add(block, false)?)
                }
                0x7A => {
                    let n = self.i32()?;
                    let n = usize::try_from(n).map_err(|_| JavaErrorKind::BadLength(n.into()))?;
                    let block = Node::Block(self.take(n)?);
                    Value::Node(self.add(block, false)?)
                }
                0x79 => {
                    self.count_value(1)?;
                    self.handles.clear();
                    continue;
                }
                0x7B => return Err(JavaErrorKind::Aborted),
                0x7E => {
                    let class = self.class_description()?.ok_or(JavaErrorKind::UnknownTag(0x70))?;
                    // The handle is assigned before the name is read.
                    let node = self.add(
                        Node::Enum {
                            class,
                            constant: JavaStr::default(),
                        },
                        true,
                    )?;
                    let (_, name) = self.string()?;
                    if let Some(Node::Enum { constant, .. }) = self.nodes.get_mut(node.0 as usize) {
                        *constant = name;
                    }
                    Value::Node(node)
                }
                tag => {
                    self.at -= 1;
                    return Err(JavaErrorKind::UnknownTag(tag));
                }
            }));
        }
    }

    fn array(&mut self) -> Read<Option<Value>> {
        let class = self.class_description()?.ok_or(JavaErrorKind::UnknownTag(0x70))?;
        let element = match self.class(class) {
            Some(class) => class.name.as_bytes().get(1).copied().unwrap_or(0),
            None => 0,
        };
        let at = self.nodes.len();
        let id = self.add(Node::Primitives { class, bytes: &[] }, true)?;
        let count = self.i32()?;
        let n = usize::try_from(count).map_err(|_| JavaErrorKind::BadLength(count.into()))?;
        if matches!(element, b'L' | b'[') {
            if n > self.bytes.len() - self.at {
                return Err(JavaErrorKind::BadLength(count.into()));
            }
            self.nodes[at] = Node::Array {
                class,
                values: Vec::new(),
            };
            self.open.push(Open::Array {
                node: id.0,
                left: count.unsigned_abs(),
            });
            return Ok(None);
        }
        let size = n
            .checked_mul(primitive_size(element)?)
            .ok_or(JavaErrorKind::BadLength(count.into()))?;
        let bytes = self.take(size)?;
        self.nodes[at] = Node::Primitives { class, bytes };
        Ok(Some(Value::Node(id)))
    }

    /// A string or a reference to one.
    pub(super) fn string(&mut self) -> Read<(NodeId, JavaStr<'a>)> {
        match self.u8()? {
            0x71 => {
                let handle = self.back_reference()?;
                match self.nodes.get(handle as usize) {
                    Some(Node::String(text)) => Ok((NodeId(handle), *text)),
                    _ => Err(JavaErrorKind::WrongReference),
                }
            }
            0x74 => {
                let text = self.utf()?;
                Ok((self.add(Node::String(text), true)?, text))
            }
            0x7C => {
                let n = i64::from_be_bytes(self.array_of()?);
                let n = usize::try_from(n).map_err(|_| JavaErrorKind::BadLength(n))?;
                let text = JavaStr::from_bytes(self.take(n)?);
                Ok((self.add(Node::String(text), true)?, text))
            }
            tag => {
                self.at -= 1;
                Err(JavaErrorKind::UnknownTag(tag))
            }
        }
    }

    fn primitive(&mut self, kind: u8) -> Read<Value> {
        self.count_value(1)?;
        Ok(match kind {
            b'B' => Value::Byte(i8::from_be_bytes(self.array_of()?)),
            b'C' => Value::Char(u16::from_be_bytes(self.array_of()?)),
            b'D' => Value::Double(f64::from_be_bytes(self.array_of()?)),
            b'F' => Value::Float(f32::from_be_bytes(self.array_of()?)),
            b'I' => Value::Int(i32::from_be_bytes(self.array_of()?)),
            b'J' => Value::Long(i64::from_be_bytes(self.array_of()?)),
            b'S' => Value::Short(i16::from_be_bytes(self.array_of()?)),
            b'Z' => Value::Boolean(self.u8()? != 0),
            kind => return Err(JavaErrorKind::UnknownType(kind)),
        })
    }

    pub(super) fn count_value(&mut self, n: usize) -> Read<()> {
        self.values += n;
        if self.values > self.max_values {
            Err(JavaErrorKind::TooManyValues(self.max_values))
        } else {
            Ok(())
        }
    }

    pub(super) fn add(&mut self, node: Node<'a>, handle: bool) -> Read<NodeId> {
        self.count_value(1)?;
        let id =
            u32::try_from(self.nodes.len()).map_err(|_| JavaErrorKind::TooManyValues(u32::MAX as usize))?;
        self.nodes.push(node);
        if handle {
            self.handles.push(id);
        }
        Ok(NodeId(id))
    }

    pub(super) fn back_reference(&mut self) -> Read<u32> {
        let handle = self.i32()?;
        handle
            .checked_sub(FIRST_HANDLE)
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| self.handles.get(index).copied())
            .ok_or(JavaErrorKind::BadReference(handle))
    }

    fn take(&mut self, n: usize) -> Read<&'a [u8]> {
        let found = self.bytes[self.at..].get(..n).ok_or(JavaErrorKind::EndOfStream)?;
        self.at += n;
        Ok(found)
    }

    pub(super) fn array_of<const N: usize>(&mut self) -> Read<[u8; N]> {
        let found = *self.bytes[self.at..]
            .first_chunk::<N>()
            .ok_or(JavaErrorKind::EndOfStream)?;
        self.at += N;
        Ok(found)
    }

    pub(super) fn peek(&self) -> Read<u8> {
        self.bytes.get(self.at).copied().ok_or(JavaErrorKind::EndOfStream)
    }

    pub(super) fn u8(&mut self) -> Read<u8> {
        Ok(self.array_of::<1>()?[0])
    }

    pub(super) fn i32(&mut self) -> Read<i32> {
        Ok(i32::from_be_bytes(self.array_of()?))
    }

    pub(super) fn utf(&mut self) -> Read<JavaStr<'a>> {
        let n = usize::from(u16::from_be_bytes(self.array_of()?));
        Ok(JavaStr::from_bytes(self.take(n)?))
    }
}

pub(super) fn primitive_size(kind: u8) -> Read<usize> {
    match kind {
        b'B' | b'Z' => Ok(1),
        b'C' | b'S' => Ok(2),
        b'F' | b'I' => Ok(4),
        b'D' | b'J' => Ok(8),
        kind => Err(JavaErrorKind::UnknownType(kind)),
    }
}
