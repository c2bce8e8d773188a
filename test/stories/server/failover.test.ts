import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@connectrpc/connect'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { postgresPrograms } from '../../../scripts/checks/postgres-programs.mjs'
import { SERVER_LOCKS } from '../../../src/platform/database/postgres-transactions.ts'
import { seededRandom } from '../../platform/rpc/rest/random.ts'
import { checkAcknowledged, checkRepositories } from '../../support/chaos-check.ts'
import { type ChaosLoad, startChaosLoad, type TargetServer } from '../../support/chaos-load.ts'
import { type GitClient, openGitClient } from '../../support/git-client.ts'
import { type PostgresServer, type Standby, startPostgres } from '../../support/postgres-server.ts'
import { createTestUsers, type TestUsers, transportTo } from '../../support/server.ts'
import { type ServerGroup, startServersOn } from '../../support/server-group.ts'
import { startForwarder, type TcpForwarder } from '../../support/tcp-forwarder.ts'

const SERVERS = 2
const TIMEOUT_MS = 240_000
/** Writes that must succeed after each failure. */
const WRITES = 20
const TITLE = 'a failure of PostgreSQL under load (skipped without its programs)'

describe.skipIf(!postgresPrograms)(TITLE, { timeout: TIMEOUT_MS }, () => {
  let primary: PostgresServer
  let standby: Standby
  /** The virtual address of the operator. */
  let address: TcpForwarder
  let group: ServerGroup
  let users: TestUsers
  let client: GitClient
  let load: ChaosLoad

  beforeAll(async () => {
    primary = await startPostgres()
    await primary.createDatabase('forge')
    standby = await primary.startStandby()
    address = await startForwarder(primary.port)
    const url = `postgres://branchline@127.0.0.1:${address.port}/forge`
    group = await startServersOn({ url, passwordFile: primary.passwordFile }, SERVERS)
    users = await createTestUsers(group.url())
    client = await openGitClient()
    const servers = (): readonly [TargetServer, ...TargetServer[]] => {
      const [first, ...others] = group.servers.map((server) => ({ url: server.url, life: 0 }))
      if (!first) throw new Error('no server')
      return [first, ...others]
    }
    load = await startChaosLoad({ users, client, random: seededRandom(1), servers })
  }, TIMEOUT_MS)

  afterAll(async () => {
    await group.stop()
    await address.stop()
    await standby.remove()
    await primary.remove()
    await client.remove()
  }, TIMEOUT_MS)

  /** Resolves when all servers accept calls again, by themselves. */
  const recover = async () => {
    for (const { url } of group.servers) {
      const asAda = createClient(UserService, transportTo(url, 'gRPC', users.ada.authorization))
      const update = {
        user: { name: 'users/ada', displayName: url },
        updateMask: { paths: ['display_name'] },
      }
      while (
        !(await asAda.updateUser(update).then(
          () => true,
          () => false,
        ))
      )
        await sleep(20)
    }
    const before = load.count()
    while (load.count() < before + WRITES) await sleep(5)
  }

  it('a restart is survived', async () => {
    await recover()
    await primary.stop()
    await primary.start()
    await recover()
  })

  it('connections that PostgreSQL ends are replaced', async () => {
    address.leadTo(primary.port)
    await recover()
  })

  it('a standby takes the place of its primary', async () => {
    await primary.crash()
    address.leadTo(standby.port)
    await standby.promote()
    await recover()
  })

  it('an update that a server could not record is reconciled by that server', async () => {
    await load.stop()
    const { port } = standby
    const login = { user: 'branchline', password: standby.password, database: 'forge' }
    const database = new pg.Client({ host: '127.0.0.1', port, ...login })
    await database.connect()
    // Rows that all servers take for updates in progress on another server, except that one.
    await database.query(
      `insert into pending_ref_updates (repository_id, create_time, server_id)
        select repositories.id, 0, pg_locks.objid::bigint from repositories, pg_locks
        where locktype = 'advisory' and objsubid = 2 and classid = $1 and granted
          and mode = 'ExclusiveLock'`,
      [SERVER_LOCKS],
    )
    const query = 'select count(*)::int as count from pending_ref_updates where create_time = 0'
    const count = async () => (await database.query(query)).rows[0].count
    expect(await count()).toBe(SERVERS)
    while ((await count()) > 0) await sleep(50)
    await database.end()
  })

  it('nothing acknowledged is lost, nothing has happened twice, and all is in order', async () => {
    await checkAcknowledged(group.url(), { users, client }, load)
    await checkRepositories(group.data, client)
    expect(await group.doctor()).toBe('nothing is wrong\n')
  })
})
