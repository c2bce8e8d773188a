import { spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { postgresPrograms } from '../../scripts/checks/postgres-programs.mjs'
import { ROOT, readPage } from '../support/markdown.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { MAIN, type ServerProcess, startServer, withFolder } from '../support/process.ts'
import { execFile } from '../support/programs.ts'
import { startTestServer } from '../support/server.ts'

const HEALTH_CHECK = join(ROOT, 'deploy/healthcheck.mjs')
const DROP_INS = ['postgresql.conf', 'git-hooks.conf']

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

/** Returns the values of a key of a unit file, in order. */
function valuesOf(unit: string, key: string): string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

/** Reads an environment file, or the assignments of a unit. */
function variablesIn(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines
      .filter((line) => /^[A-Z_]+=/.test(line))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}

/** Starts the service with its own command line and settings, in other folders. */
async function start(
  data: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const [line = ''] = valuesOf(readPage('deploy/systemd/branchline.service'), 'ExecStart')
  const places: Record<string, string> = {
    '/usr/bin/node': process.execPath,
    '/opt/branchline/bin/branchline': MAIN,
    '/var/lib/branchline': data,
  }
  const command = line.split(' ').map((word) => places[word] ?? word)
  expect(
    command.filter((word) => word.startsWith('/') && !Object.values(places).includes(word)),
  ).toEqual([])
  const variables = variablesIn(readPage('deploy/systemd/branchline.env').split('\n'))
  expect(Object.keys(variables)).toContain('BRANCHLINE_LISTEN')
  return startServer(command, { ...variables, BRANCHLINE_LISTEN: '127.0.0.1:0', ...settings })
}

/** Checks that a server is ready, and that it ends as the service manager expects. */
async function expectService({ url, child, exited }: ServerProcess): Promise<void> {
  try {
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  } finally {
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
  }
}

describe('the systemd unit', () => {
  it.skipIf(!hasSystemd)(
    'is correct, with all of its drop-ins (skipped without systemd-analyze)',
    async () => {
      await withFolder(async (folder) => {
        const unit = join(folder, 'branchline.service')
        const dropIns = join(folder, 'branchline.service.d')
        await mkdir(dropIns)
        for (const name of DROP_INS)
          await writeFile(join(dropIns, name), readPage(`deploy/systemd/${name}`))
        const verify = async (content: string) => {
          // The program must be there.
          await writeFile(unit, content.replace('/usr/bin/node', process.execPath))
          const { stderr } = await execFile('systemd-analyze', ['verify', unit])
          return stderr.split('\n').filter((line) => line.includes('branchline'))
        }
        const content = readPage('deploy/systemd/branchline.service')
        expect(await verify(content)).toEqual([])
        expect(await verify(content.replace('KillMode', 'KilMode'))).not.toEqual([])
      })
    },
  )

  it('leaves calls in flight their time, and lets the server end its own processes', () => {
    const unit = readPage('deploy/systemd/branchline.service')
    expect(valuesOf(unit, 'KillMode')).toEqual(['mixed'])
    expect(Number(valuesOf(unit, 'TimeoutStopSec')[0])).toBeGreaterThan(20)
  })

  it('starts a server that is ready, and that ends with 0 on SIGTERM', async () => {
    await withFolder(async (folder) => {
      await expectService(await start(join(folder, 'data')))
    })
  })
})

const POSTGRES_TITLE =
  'the role and the database of deploy/create-database.sh (skipped without PostgreSQL)'

describe.skipIf(!postgresPrograms)(POSTGRES_TITLE, { timeout: 120_000 }, () => {
  it('are all that the service needs, with the settings of postgresql.conf', async () => {
    const postgres = await startPostgres({ user: 'superuser' })
    try {
      await withFolder(async (folder) => {
        const password = join(folder, 'database-password')
        await writeFile(password, 'a "quoted" \\ \'password\'\n')
        const { hostname, port } = new URL(postgres.url('postgres'))
        await execFile('sh', [join(ROOT, 'deploy/create-database.sh')], {
          env: {
            PATH: `${postgresPrograms}:${process.env.PATH}`,
            // The image connects by a socket that trusts its user.
            PGHOST: hostname,
            PGPORT: port,
            PGPASSWORD: (await readFile(postgres.passwordFile, 'utf8')).trim(),
            POSTGRES_USER: 'superuser',
            DATABASE_PASSWORD_FILE: password,
          },
        })
        const variables = variablesIn(
          valuesOf(readPage('deploy/systemd/postgresql.conf'), 'Environment'),
        )
        const { BRANCHLINE_DATABASE = '', BRANCHLINE_DATABASE_PASSWORD_FILE = '' } = variables
        const database = new URL(BRANCHLINE_DATABASE)
        Object.assign(database, { hostname, port })
        const server = await start(join(folder, 'data'), {
          BRANCHLINE_DATABASE: database.href,
          BRANCHLINE_DATABASE_PASSWORD_FILE: BRANCHLINE_DATABASE_PASSWORD_FILE.replace(
            '%d',
            folder,
          ),
        })
        await expectService(server)
      })
    } finally {
      await postgres.remove()
    }
  })
})

describe('the health check of the container', () => {
  const check = (address: string) =>
    execFile(process.execPath, [HEALTH_CHECK], { env: { BRANCHLINE_LISTEN: address } })

  it('succeeds while the server answers, and fails when it has ended', async () => {
    const server = await startTestServer()
    const { port } = new URL(server.url)
    await check(`0.0.0.0:${port}`)
    await check(`[::]:${port}`)
    await server.stop()
    await expect(check(`0.0.0.0:${port}`)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('ECONNREFUSED'),
    })
  })
})
