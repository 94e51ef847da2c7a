//! What a Java object stream holds, without loading any class.

use super::JavaStr;

/// Index of a [`Node`] in its [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// A value of a field, of an array, or among an object's annotations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// No object.
    Null,
    /// An object, string, array, enum constant or class. References back make the graph cyclic.
    Node(NodeId),
    /// `byte`.
    Byte(i8),
    /// `char`, a UTF-16 unit.
    Char(u16),
    /// `double`.
    Double(f64),
    /// `float`.
    Float(f32),
    /// `int`.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `short`.
    Short(i16),
    /// `boolean`.
    Boolean(bool),
}

/// A class as the stream describes it.
#[derive(Clone, Debug)]
pub struct Class<'a> {
    /// Full name; of a proxy class `java.lang.reflect.Proxy`.
    pub name: JavaStr<'a>,
    /// `serialVersionUID`; 0 for a proxy class.
    pub serial_version_uid: i64,
    /// The bits `SC_…` of the serialization protocol.
    pub flags: u8,
    pub(super) fields: Vec<(u8, JavaStr<'a>)>,
    pub(super) parent: Option<NodeId>,
}

impl<'a> Class<'a> {
    /// Names of the fields that this class itself declares, in the order of the stream.
    pub fn field_names(&self) -> impl Iterator<Item = JavaStr<'a>> + '_ {
        self.fields.iter().map(|&(_, name)| name)
    }

    /// The superclass that is serializable too, if any.
    pub fn parent(&self) -> Option<NodeId> {
        self.parent
    }
}

/// Something that the stream holds once and can refer back to.
#[derive(Clone, Debug)]
pub enum Node<'a> {
    /// A class description.
    Class(Class<'a>),
    /// A `java.lang.Class` object.
    ClassObject {
        /// The class that it is about.
        class: NodeId,
    },
    /// An object.
    Object {
        /// Its class.
        class: NodeId,
        /// Values of all fields, topmost superclass first, in the order of the class descriptions.
        fields: Vec<Value>,
        /// What the `writeObject` methods of its classes wrote besides: elements of collections and so on.
        annotations: Vec<Value>,
    },
    /// A string; longer than 65,535 bytes too.
    String(JavaStr<'a>),
    /// An array of objects.
    Array {
        /// Its class, whose name begins with `[L` or `[[`.
        class: NodeId,
        /// The elements.
        values: Vec<Value>,
    },
    /// An array of primitive values, still encoded, big-endian.
    Primitives {
        /// Its class: `[B`, `[I` and so on.
        class: NodeId,
        /// The encoded elements.
        bytes: &'a [u8],
    },
    /// An enum constant.
    Enum {
        /// Its class.
        class: NodeId,
        /// Its name.
        constant: JavaStr<'a>,
    },
    /// Bytes that a `writeObject` method wrote. Nothing refers back to it.
    Block(&'a [u8]),
}

/// All that an object stream holds. Walk it by [`Graph::root`] or by [`Graph::nodes`]; it can be cyclic.
#[derive(Clone, Debug)]
pub struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) root: Value,
}

impl<'a> Graph<'a> {
    /// The object that was written.
    pub fn root(&self) -> Value {
        self.root
    }

    /// A node of this graph; `None` for an id of another one.
    pub fn node(&self, id: NodeId) -> Option<&Node<'a>> {
        self.nodes.get(id.0 as usize)
    }

    /// Every node, in the order of the stream.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node<'a>)> {
        // Node ids are u32; the reader makes no more nodes.
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// The class that a node describes.
    pub fn class(&self, id: NodeId) -> Option<&Class<'a>> {
        match self.node(id)? {
            Node::Class(class) => Some(class),
            _ => None,
        }
    }

    /// The name of the class of an object, enum constant or array.
    pub fn class_name(&self, value: Value) -> Option<JavaStr<'a>> {
        let Value::Node(id) = value else { return None };
        match self.node(id)? {
            Node::Object { class, .. }
            | Node::Enum { class, .. }
            | Node::Array { class, .. }
            | Node::Primitives { class, .. } => Some(self.class(*class)?.name),
            _ => None,
        }
    }

    /// The value of a field of an object, by name; the most derived class that declares it wins.
    pub fn field(&self, object: Value, name: &str) -> Option<Value> {
        let Value::Node(id) = object else { return None };
        let Node::Object { class, fields, .. } = self.node(id)? else {
            return None;
        };
        // Values are stored topmost class first, so go through them from the end while climbing.
        let mut end = fields.len();
        let mut class = Some(*class);
        while let Some(id) = class {
            let description = self.class(id)?;
            let start = end.checked_sub(if serializable(description) {
                description.fields.len()
            } else {
                0
            })?;
            if let Some(at) = description.fields.iter().position(|(_, field)| *field == name) {
                return fields.get(start..end)?.get(at).copied();
            }
            end = start;
            class = description.parent;
        }
        None
    }

    /// The text of a string node or of an enum constant.
    pub fn text(&self, value: Value) -> Option<JavaStr<'a>> {
        let Value::Node(id) = value else { return None };
        match self.node(id)? {
            Node::String(text) => Some(*text),
            Node::Enum { constant, .. } => Some(*constant),
            _ => None,
        }
    }
}

/// Whether the fields of the class are in the stream (flag `SC_SERIALIZABLE`).
pub(super) fn serializable(class: &Class<'_>) -> bool {
    class.flags & 2 != 0
}
