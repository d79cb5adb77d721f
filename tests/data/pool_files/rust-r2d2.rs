use mysql::{Opts, OptsBuilder};
use r2d2_mysql::MysqlConnectionManager;

pub fn open(address: &str) -> r2d2::Pool<MysqlConnectionManager> {
    let options = Opts::from_url(address).unwrap();
    let manager = MysqlConnectionManager::new(OptsBuilder::from_opts(options));
    r2d2::Pool::builder().max_size(32).build(manager).unwrap()
}
