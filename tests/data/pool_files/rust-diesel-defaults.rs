use diesel::prelude::*;
use diesel::r2d2::{self, ConnectionManager};

pub fn open() -> r2d2::Pool<ConnectionManager<MysqlConnection>> {
    let address = std::env::var("SAMPLE_ADDRESS").expect("SAMPLE_ADDRESS");
    let manager = ConnectionManager::<MysqlConnection>::new(address);
    r2d2::Pool::builder().build(manager).expect("no pool")
}
