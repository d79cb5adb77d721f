using Microsoft.EntityFrameworkCore;
using MySQL.Data.EntityFrameworkCore.Extensions;

public class SampleContext : DbContext
{
    protected override void OnConfiguring(DbContextOptionsBuilder builder)
    {
        string server = "localhost";
        string address = $"Server={server};port=8889;database=sample;uid=sample;pwd=sample;SslMode=None;";
        builder.UseMySQL(address);
    }
}
