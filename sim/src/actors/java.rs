//! Java objects as `ObjectOutputStream` writes them (flink-format.md 4.4). A wording of its own beside the reader's.

use std::collections::BTreeMap;

/// A class: its name, `serialVersionUID`, flags (2: serializable, 1 besides: it writes more than its fields), fields in the order in which they are written, and
/// the class above it.
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) uid: u64,
    pub(super) flags: u8,
    pub(super) fields: &'static [Field],
    pub(super) above: Option<&'static Class>,
}

/// A field: its name and the type as class files write it, such as `J` or `Ljava/lang/String;`.
pub(super) type Field = (&'static str, &'static str);

/// What a field holds.
pub(super) enum Value {
    Long(i64),
    Int(i32),
    Float(f32),
    Null,
    Text(String),
    Bytes(Vec<u8>),
    Object(Object),
}

/// An object: the values of its fields, those of the topmost class first, and what it writes besides.
pub(super) struct Object {
    pub(super) class: &'static Class,
    pub(super) values: Vec<Value>,
    /// Block data, and the objects after it.
    pub(super) besides: Option<(Vec<u8>, Vec<Value>)>,
}

const BYTES: Class = Class {
    name: "[B",
    uid: 0xacf3_17f8_0608_54e0,
    flags: 2,
    fields: &[],
    above: None,
};

#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// Handles of class descriptors and of the texts of types, by what they are.
    known: BTreeMap<String, u32>,
    next: u32,
}

/// The bytes of a stream that holds this object.
pub(super) fn stream(object: &Object) -> Vec<u8> {
    let mut stream = Stream {
        bytes: vec![0xAC, 0xED, 0, 5],
        ..Stream::default()
    };
    stream.object(object);
    stream.bytes
}

impl Stream {
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn utf(&mut self, text: &str) -> &mut Self {
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        self.raw(&length.to_be_bytes()).raw(text.as_bytes())
    }

    /// What was written before is referred to. Whether it was.
    fn again(&mut self, what: &str) -> bool {
        let Some(handle) = self.known.get(what).copied() else {
            self.known.insert(what.to_owned(), self.next);
            return false;
        };
        self.raw(&[0x71]).raw(&(0x7E_0000 + handle).to_be_bytes());
        true
    }

    fn class(&mut self, class: &Class) {
        if self.again(class.name) {
            return;
        }
        self.raw(&[0x72]).utf(class.name);
        self.next += 1;
        self.raw(&class.uid.to_be_bytes()).raw(&[class.flags]);
        let count = u16::try_from(class.fields.len()).unwrap_or(u16::MAX);
        self.raw(&count.to_be_bytes());
        for (name, of_type) in class.fields {
            self.raw(&of_type.as_bytes()[..1]).utf(name);
            if of_type.len() > 1 && !self.again(&format!("type {of_type}")) {
                self.raw(&[0x74]).utf(of_type);
                self.next += 1;
            }
        }
        self.raw(&[0x78]);
        match class.above {
            Some(above) => self.class(above),
            None => {
                self.raw(&[0x70]);
            }
        }
    }

    fn object(&mut self, object: &Object) {
        self.raw(&[0x73]);
        self.class(object.class);
        self.next += 1;
        for value in &object.values {
            self.value(value);
        }
        if let Some((block, after)) = &object.besides {
            if !block.is_empty() {
                let length = u8::try_from(block.len()).unwrap_or(u8::MAX);
                self.raw(&[0x77, length]).raw(block);
            }
            for value in after {
                self.value(value);
            }
            self.raw(&[0x78]);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Long(n) => {
                self.raw(&n.to_be_bytes());
            }
            Value::Int(n) => {
                self.raw(&n.to_be_bytes());
            }
            Value::Float(n) => {
                self.raw(&n.to_be_bytes());
            }
            Value::Null => {
                self.raw(&[0x70]);
            }
            Value::Text(text) => {
                self.raw(&[0x74]).utf(text);
                self.next += 1;
            }
            Value::Bytes(bytes) => {
                self.raw(&[0x75]);
                self.class(&BYTES);
                self.next += 1;
                let length = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
                self.raw(&length.to_be_bytes()).raw(bytes);
            }
            Value::Object(object) => self.object(object),
        }
    }
}
