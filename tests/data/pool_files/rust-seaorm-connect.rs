use sea_orm::*;

const DATABASE_URL: &str = "mysql://sample@db:3306";
const DB_NAME: &str = "sample";

pub(super) async fn set_up() -> Result<DatabaseConnection, DbErr> {
    let db = Database::connect(DATABASE_URL).await?;
    match db.get_database_backend() {
        DbBackend::MySql => {
            create(&db, DB_NAME).await?;
            let url = format!("{}/{}", DATABASE_URL, DB_NAME);
            Database::connect(&url).await
        }
        _ => Ok(db),
    }
}
