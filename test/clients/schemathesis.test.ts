import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Forge, startForge } from '../support/forge.ts'
import { createToken } from '../support/server.ts'
import { installSchemathesis } from './schemathesis/install.ts'

const VERSION = '4.32.5'

/** `npm run schemathesis` sets all three. */
const { SCHEMATHESIS_PHASES, SCHEMATHESIS_EXAMPLES, SCHEMATHESIS_SEED } = process.env
const isLong = SCHEMATHESIS_EXAMPLES !== undefined

/** A hang is a failure, a busy machine is not. */
const LIMIT_MS = isLong ? 3_600_000 : 240_000

/**
 * What every response is checked for: no internal error, the statuses, media types, headers and
 * schemas of the document, and in `Allow` the methods of the very path.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'allow_header_conformance',
]

/** Streams of events, which do not end. */
const ENDLESS = '_Watch'

const installed = installSchemathesis(VERSION)
const isHere = 'program' in installed
const name = isHere ? 'Schemathesis' : `Schemathesis (skipped: ${installed.missing})`

describe.skipIf(!isHere)(name, () => {
  let folder: string
  let token: string
  let forge: Forge

  beforeAll(async () => {
    forge = await startForge()
    const { server, users, ask } = forge
    folder = await mkdtemp(join(tmpdir(), 'branchline-schemathesis-'))
    token = await createToken(server.url, users.bob, ['all'])
    const bobs = (method: string, path: string, body?: object) =>
      ask(users.bob, method, path, body ? { ...body } : undefined)
    for (const name of ['engine', 'spare'])
      await bobs('POST', '/user/repos', { name, auto_init: true })
    await bobs('POST', '/orgs', { username: 'acme' })
    await bobs('POST', '/orgs/acme/repos', { name: 'tools' })
    const engine = '/repos/bob/engine'
    const file = { content: 'YQ==', new_branch: 'topic', message: 'A file' }
    await bobs('POST', `${engine}/contents/a.txt`, file)
    await bobs('POST', `${engine}/pulls`, { head: 'topic', base: 'main', title: 'A file' })
    await bobs('POST', `${engine}/issues/1/comments`, { body: 'Good.' })
    await bobs('POST', `${engine}/pulls/1/reviews`, { event: 'COMMENT', body: 'Fine.' })
    await bobs('POST', `${engine}/labels`, { name: 'bug', color: '#ff0000' })
    await bobs('POST', `${engine}/milestones`, { title: 'One' })
    await bobs('POST', `${engine}/releases`, { tag_name: 'v1' })
    await bobs('POST', `${engine}/statuses/main`, { state: 'success' })
    await bobs('POST', `${engine}/branch_protections`, { rule_name: 'guarded' })
    await bobs('POST', '/memos', { content: 'A memo' })
  })
  afterAll(async () => {
    await forge.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it(
    'finds no internal error, and nothing that the description of the API does not say',
    async () => {
      const { code, output } = await runSchemathesis(forge.server.url, token, folder)
      expect(code, output).toBe(0)
      expect(output).toMatch(/Tested: [1-9]\d\d/)
    },
    LIMIT_MS,
  )
})

async function runSchemathesis(url: string, token: string, folder: string) {
  if (!('program' in installed)) throw new Error(installed.missing)
  const child = spawn(
    installed.program,
    [
      ...['--config-file', join(import.meta.dirname, 'schemathesis', 'schemathesis.toml')],
      ...['run', `${url}/openapi.json`],
      ...['--phases', SCHEMATHESIS_PHASES ?? 'fuzzing'],
      ...['--max-examples', SCHEMATHESIS_EXAMPLES ?? '1'],
      ...['--seed', SCHEMATHESIS_SEED ?? '1', '--workers', '2', '--no-shrink'],
      ...['--header', `Authorization: Bearer ${token}`, '--checks', CHECKS.join()],
      ...['--exclude-operation-id-regex', ENDLESS, '--continue-on-failure'],
      ...['--suppress-health-check', 'all', '--warnings', 'off', '--request-timeout', '30'],
    ],
    {
      cwd: folder,
      env: {
        ...process.env,
        PYTHONPATH: join(import.meta.dirname, 'schemathesis'),
        PYTHONDONTWRITEBYTECODE: '1',
        SCHEMATHESIS_HOOKS: 'hooks',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: LIMIT_MS,
    },
  )
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return { code, output }
}
