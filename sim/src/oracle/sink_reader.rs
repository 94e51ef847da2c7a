//! A second reader of the state of a file sink's writer, from flink-format.md 5 and 6 alone: the tail of the file that an element says is open.

/// Reads from the front.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, n: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn little(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.take(4)?.try_into().ok()?)).ok()
    }

    fn counted(&mut self) -> Option<Self> {
        let n = usize::try_from(self.u32()?).ok()?;
        self.take(n).map(Bytes)
    }

    /// A version and what was written by it.
    fn versioned(&mut self) -> Option<(u32, Self)> {
        Some((self.u32()?, self.counted()?))
    }

    fn text(&mut self) -> Option<&'b [u8]> {
        let n = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        self.take(usize::from(n))
    }

    fn little_text(&mut self) -> Option<&'b [u8]> {
        let n = self.little()?;
        self.take(n)
    }

    fn expect(&mut self, magic: u32) -> Option<()> {
        (self.u32()? == magic).then_some(())
    }

    fn is(&mut self) -> Option<bool> {
        Some(self.take(1)? == [1])
    }
}

/// The key of the tail that the element of `writer_raw_states` at this offset needs.
pub(super) fn tail_at(state: &[u8], offset: i64) -> Option<String> {
    let mut element = Bytes(state.get(usize::try_from(offset).ok()?..)?).counted()?;
    let (3, mut bucket) = element.versioned()? else {
        return None;
    };
    bucket.expect(0x1E76_4B79)?;
    bucket.versioned()?;
    bucket.text()?;
    bucket.take(8)?;
    if !bucket.is()? {
        return None;
    }
    let (wrapper, mut in_progress) = bucket.versioned()?;
    in_progress.expect(0xB3A4_073D)?;
    if wrapper >= 2 && in_progress.is()? {
        in_progress.text()?;
    }
    let (1, recoverable) = in_progress.versioned()? else {
        return None;
    };
    let key = if recoverable.0.starts_with(&[0x32, 0x14, 0x76, 0x98]) {
        of_hadoop(recoverable)?
    } else {
        of_native(recoverable)?
    };
    String::from_utf8(key.to_vec()).ok().filter(|k| !k.is_empty())
}

fn of_hadoop(mut b: Bytes<'_>) -> Option<&[u8]> {
    b.take(4)?;
    b.little_text()?;
    b.little_text()?;
    for _ in 0..b.little()? {
        b.take(4)?;
        b.little_text()?;
    }
    b.take(8)?;
    b.little_text()
}

fn of_native(mut b: Bytes<'_>) -> Option<&[u8]> {
    b.text()?;
    b.text()?;
    b.take(8)?;
    for _ in 0..b.u32()? {
        b.take(4)?;
        b.text()?;
    }
    if b.is()? { b.text() } else { None }
}
