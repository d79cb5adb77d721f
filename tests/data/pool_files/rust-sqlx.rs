use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySql, Pool};
use std::time::Duration;

pub async fn open(address: String) -> anyhow::Result<Pool<MySql>> {
    let opened = MySqlPoolOptions::new()
        .max_connections(5)
        .acquire_timeout(Duration::from_secs(6u64))
        .connect(&address).await?;
    Ok(opened)
}
