//! The ports of Stayput on the AWS SDK.
