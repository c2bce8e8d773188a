/**
 * The other version of better-sqlite3 (see `sqlite.ts`) has no types. Those of version 12 fit what
 * is used here.
 */
declare module 'better-sqlite3-napi' {
  import Sqlite from 'better-sqlite3'
  export default Sqlite
}
