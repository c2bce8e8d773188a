import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { Sqlite } from '../../../src/platform/database/sqlite.ts'
import { isOnPostgres } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { branchline, environmentOf, MAIN, serveProcess, withFolder } from '../../support/process.ts'
import { startTestServer } from '../../support/server.ts'

/**
 * Makes a row of a merge that waits, which the server cannot touch: its start fails after it has
 * begun to listen.
 */
function breakStart(data: string): void {
  const sqlite = new Sqlite(join(data, 'branchline.db'))
  sqlite.pragma('foreign_keys = off')
  sqlite.exec(`
    insert into auto_merges
      (pull_request_id, repository_id, scheduler_id, style, title, message, create_time, due_time)
      values (1, 1, 1, 'merge', '', '', 0, 9e15);
    create trigger broken before update on auto_merges begin select raise(abort, 'the disk is on strike'); end`)
  sqlite.close()
}

function repairStart(data: string): void {
  const sqlite = new Sqlite(join(data, 'branchline.db'))
  sqlite.exec('drop trigger broken; delete from auto_merges')
  sqlite.close()
}

async function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

// With PostgreSQL, a worker that cannot start is tried again, on any server.
describe.skipIf(isOnPostgres)(
  'a start that fails after the server listens (skipped on PostgreSQL: workers start later)',
  () => {
    it('prints the reason, ends the process, and releases the data folder and the port', () =>
      withFolder(async (data) => {
        const listen = { host: '127.0.0.1', port: await freePort() }
        const first = await startTestServer({ data, listen })
        await first.stop()
        breakStart(data)
        const { code, stdout, stderr } = await branchline([
          'serve',
          '--data',
          data,
          '--listen',
          `127.0.0.1:${listen.port}`,
        ])
        expect(stderr).toContain('the disk is on strike')
        expect(stdout).toBe('')
        expect(code).toBe(1)
        expect(await isListening(first.url)).toBe(false)

        repairStart(data)
        const second = await startTestServer({ data, listen })
        await second.stop()
      }))

    it('leaves nothing running, and can be repeated in the same process', () =>
      withFolder(async (data) => {
        const listen = { host: '127.0.0.1', port: await freePort() }
        const first = await startTestServer({ data, listen })
        await first.stop()
        breakStart(data)
        await expect(startTestServer({ data, listen })).rejects.toThrow('the disk is on strike')
        expect(await isListening(first.url)).toBe(false)
        repairStart(data)
        const second = await startTestServer({ data, listen })
        expect((await fetch(`${second.url}/readyz`)).status).toBe(200)
        await second.stop()
      }))
  },
)

describe('a server whose address is in use', () => {
  it('ends with an error message, and releases the data folder', () =>
    withFolder(async (data) => {
      const other = await startTestServer()
      const { hostname: host, port } = new URL(other.url)
      await expect(startTestServer({ data, listen: { host, port: Number(port) } })).rejects.toThrow(
        'the address is in use',
      )
      await other.stop()
      const server = await startTestServer({ data })
      await server.stop()
    }))
})

describe('a server whose log has no reader', () => {
  const manyCalls = async (url: string) => {
    for (let i = 0; i < 300; i += 1)
      await (await fetch(`${url}/api/v1/users/nobody${i}`)).arrayBuffer()
  }

  it('keeps serving after the reader exits, and ends with 0 after SIGTERM and a stop delay', () =>
    withFolder(async (data) => {
      const server = await serveProcess(data, ['--log-level', 'debug', '--stop-delay', '100ms'])
      server.child.stderr?.destroy()
      await manyCalls(server.url)
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    }))

  it('ends with 0 on SIGTERM if its last line is the first one without a reader', () =>
    withFolder(async (data) => {
      const server = await serveProcess(data)
      server.child.stderr?.destroy()
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    }))

  it('keeps serving while the reader does not read, and ends with 0 on SIGTERM', () =>
    withFolder(async (data) => {
      const args = ['serve', '--data', data, '--listen', '127.0.0.1:0', '--log-level', 'debug']
      // Nothing ever reads stderr, which fits some hundred lines.
      const child = spawn(process.execPath, [MAIN, ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: await environmentOf(args),
      })
      const exited = once(child, 'exit')
      const [line] = await once(createInterface(child.stdout), 'line')
      const url = String(line).split(' ').at(-1) ?? ''
      for (let round = 0; round < 3; round += 1) await manyCalls(url)
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      child.kill('SIGTERM')
      expect(await exited).toEqual([0, null])
    }))
})

describe('a server with --stop-delay', () => {
  it('is not ready after SIGTERM, but takes calls until the delay has passed or a second signal', () =>
    withFolder(async (data) => {
      const server = await serveProcess(data, ['--stop-delay', '5m'])
      const get = async (path: string) => (await fetch(server.url + path)).status
      expect(await get('/readyz')).toBe(200)
      server.child.kill('SIGTERM')
      await server.logged('not ready')
      expect([await get('/readyz'), await get('/api/v1/users/nobody')]).toEqual([503, 404])
      expect(server.linesSoFar('finishing the calls in flight')).toEqual([])
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(1)
    }))
})
