//! The ports of `stayput guard` on S3.

use stayput_aws::clock::SystemClock;
use stayput_aws::connection::{Connection, ConnectionError};
use stayput_aws::copies::Copies;
use stayput_aws::journal::S3Journal;
use stayput_aws::s3::S3;

use super::{Ports, Prepared};
use crate::exit::Exit;
use crate::terminal::{Shown, complain};

/// Connects as the environment says. Asks once who we are, if the settings don't say it: what we delete or copy ourselves is told apart
/// by that. If nobody can tell, that is said and the guard goes on without.
///
/// # Errors
/// The environment makes no sense: there is no region, or there are no credentials that can be used.
pub async fn on_aws(
    prepared: &mut Prepared,
) -> Result<Ports<S3, S3Journal, SystemClock, Copies>, ConnectionError> {
    let connection = Connection::from_env().await?;
    let settings = &mut prepared.settings;
    if settings.role.is_none() {
        match connection.own_role().await {
            Ok(role) => {
                settings.mandate.principals.ours.push(role.clone());
                settings.role = Some(role);
            }
            // Without credentials nothing else can be asked either.
            Err(error) if Exit::of_no_connection(&error) == Exit::Usage => return Err(error),
            Err(error) => complain(format_args!("stayput: {}", Shown(&error.to_string()))),
        }
    }
    let control = settings.mandate.control.clone();
    Ok(Ports {
        reading: S3::new(&connection),
        journal: control
            .clone()
            .map(|control| S3Journal::new(&connection, control)),
        clock: SystemClock,
        copies: Copies::new(&connection, control, settings.copies_per_second)
            .in_parts_of(settings.part_sizes)
            .thawing(settings.thaw),
    })
}
