import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from '../support/markdown.ts'
import { execFile } from '../support/programs.ts'
import { createTestUsers, startTestServer, type TestServer } from '../support/server.ts'

const FOLDER = join(ROOT, 'test', 'clients', 'go')

/** With an empty cache, Go fetches and compiles the library. */
const TIMEOUT_MS = 600_000

const answers = (...args: string[]) =>
  spawnSync('go', args, { timeout: 20_000, cwd: FOLDER }).status === 0

const obstacle = answers('version')
  ? answers('mod', 'download')
    ? undefined
    : 'no packages of Go can be had'
  : 'go is not installed'

describe('protojson of Go', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer()
    await createTestUsers(server.url)
  })
  afterAll(() => server.stop())

  it.skipIf(obstacle !== undefined)(
    `reads an account strictly, and writes the names that it read${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`,
    async () => {
      const { stdout } = await execFile('go', ['run', '.', server.url], { cwd: FOLDER })
      const [fields, json] = stdout.split('\n')
      expect(fields).toBe(`ada ada ${server.url}/ada`)
      expect(JSON.parse(json ?? '')).toMatchObject({
        name: 'users/ada',
        createTime: expect.any(String),
        login: 'ada',
        html_url: `${server.url}/ada`,
      })
    },
    TIMEOUT_MS,
  )
})
