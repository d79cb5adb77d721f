import { TypeOrmModule } from '@nestjs/typeorm';

const databaseModule = TypeOrmModule.forRoot({
  type: 'mysql',
  username: 'sample',
  port: parseInt('3306'),
  database: 'sample',
  host: 'db',
  entities: [__dirname + '/**/*.entity{.ts,.js}'],
  synchronize: false,
  autoLoadEntities: true,
  extra: {
    connectionLimit: 1000,
  },
  logging: true
});

export default databaseModule;
