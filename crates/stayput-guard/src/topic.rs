//! The SNS topic that findings are published to, by its ARN.

/// A topic's ARN that was looked at: `arn:aws:sns:eu-west-1:111122223333:findings`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicArn(String);

/// Why a text can't name the topic.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotATopic {
    /// It has another form.
    #[error("findings_topic {0:?} is no ARN of an SNS topic: write arn:aws:sns:REGION:ACCOUNT:NAME")]
    Form(String),
    /// FIFO topics ask for a group of messages and pass on what has the same content only once in five minutes.
    #[error("findings_topic {0} is a FIFO topic: findings come in no order, so name a standard topic")]
    Fifo(String),
}

impl TopicArn {
    /// Takes the ARN of a standard topic.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, NotATopic> {
        let parts: Vec<&str> = text.split(':').collect();
        let is_word = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        let [arn, partition, sns, region, account, name] = parts.as_slice() else {
            return Err(NotATopic::Form(text.to_owned()));
        };
        let plain = name.strip_suffix(".fifo");
        let fits = *arn == "arn"
            && partition.starts_with("aws")
            && *sns == "sns"
            && is_word(region)
            && account.len() == 12
            && account.bytes().all(|b| b.is_ascii_digit())
            && is_word(plain.unwrap_or(name));
        match (fits, plain) {
            (false, _) => Err(NotATopic::Form(text.to_owned())),
            (true, Some(_)) => Err(NotATopic::Fifo(text.to_owned())),
            (true, None) => Ok(Self(text.to_owned())),
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The region that the topic is in, which need not be the function's.
    pub fn region(&self) -> &str {
        self.0.split(':').nth(3).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_arn_of_a_standard_topic_is_one() {
        let topic = TopicArn::parse("arn:aws-cn:sns:cn-north-1:111122223333:stayput_findings-2").unwrap();
        assert_eq!(topic.region(), "cn-north-1");
        assert_eq!(
            topic.as_str(),
            "arn:aws-cn:sns:cn-north-1:111122223333:stayput_findings-2"
        );
        for wrong in [
            "",
            "findings",
            "arn:aws:sqs:eu-west-1:111122223333:findings",
            "arn:aws:sns:eu-west-1:1111:findings",
            "arn:aws:sns::111122223333:findings",
            "arn:aws:sns:eu-west-1:111122223333:findings:81a8b1c2-subscription",
            "arn:aws:sns:eu-west-1:111122223333:with space",
        ] {
            assert_eq!(TopicArn::parse(wrong), Err(NotATopic::Form(wrong.to_owned())));
        }
        let fifo = "arn:aws:sns:eu-west-1:111122223333:findings.fifo";
        assert_eq!(TopicArn::parse(fifo), Err(NotATopic::Fifo(fifo.to_owned())));
    }
}
