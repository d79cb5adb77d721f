use sea_orm::{ConnectOptions, Database, DatabaseConnection, DbErr};
use std::time::Duration;

pub async fn open() -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new("mysql://sample@localhost:3306/sample");
    options.max_connections(100)
        .min_connections(5)
        .acquire_timeout(Duration::from_secs(8))
        .idle_timeout(Duration::from_secs(8))
        .max_lifetime(Duration::from_secs(8))
        .sqlx_logging(true);
    Database::connect(options).await
}
