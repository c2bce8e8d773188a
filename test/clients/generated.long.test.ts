import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../scripts/setup/addon-cache.mjs'
import { blocksOf, ROOT, readPage } from '../support/markdown.ts'
import { withFolder } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

/** The address on the page, which the test replaces by that of its server. */
const ADDRESS = '127.0.0.1:8080'

/** With an empty cache, compilers and package managers fetch and compile hundreds of megabytes. */
const TIMEOUT_MS = 600_000

/** What compilers keep between runs. Go and Maven have folders of their own for that. */
const CARGO_TARGET = join(cacheFolder(), '..', 'clients', 'cargo')

const answers = (command: string, ...args: string[]) =>
  spawnSync(command, args, { timeout: 20_000 }).status === 0

/** Why the example of a language cannot run here; undefined if it can. */
const OBSTACLES: Readonly<Record<string, () => string | undefined>> = {
  TypeScript: () =>
    answers('npm', 'view', '@bufbuild/protobuf', 'version')
      ? undefined
      : 'no packages of npm can be had',
  Go: () => {
    if (!answers('go', 'version')) return 'go is not installed'
    return answers('go', 'list', '-m', 'google.golang.org/grpc@v1.68.0')
      ? undefined
      : 'no packages of Go can be had'
  },
  Java: () => {
    if (!answers('mvn', '-v')) return 'maven is not installed'
    const probe = [
      '-q',
      '-B',
      'dependency:get',
      '-Dartifact=io.grpc:grpc-api:1.68.0',
      '-Dtransitive=false',
    ]
    return answers('mvn', ...probe) ? undefined : 'no packages of Maven can be had'
  },
  Python: () => {
    if (!answers('python3', '-c', 'import venv, ensurepip')) return 'python3-venv is not installed'
    const probe = [
      '-m',
      'pip',
      'download',
      '-q',
      '--no-deps',
      '--dest',
      join(CARGO_TARGET, '..', 'pip'),
      'grpcio-tools',
    ]
    return answers('python3', ...probe) ? undefined : 'no packages of Python can be had'
  },
  Rust: () => {
    if (!answers('cargo', '--version')) return 'cargo is not installed'
    return answers('cargo', 'info', 'prost') ? undefined : 'no packages of Rust can be had'
  },
}

const page = readPage('docs/clients.md')
const examples = page
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    language: section.slice(0, section.indexOf('\n')),
    blocks: blocksOf(section),
  }))
  .filter(({ language }) => language in OBSTACLES)

describe('a client from the schema of the server', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer()
    await mkdir(CARGO_TARGET, { recursive: true })
  })
  afterAll(() => server.stop())

  it('is described for each language', () => {
    expect(examples.map(({ language }) => language)).toEqual(Object.keys(OBSTACLES))
    for (const { blocks } of examples)
      expect(blocks.map(({ language }) => language)).toEqual(['sh'])
  })

  for (const { language, blocks } of examples) {
    const obstacle = answers('curl', '--version')
      ? OBSTACLES[language]?.()
      : 'curl is not installed'
    it.skipIf(obstacle !== undefined)(
      `is generated, compiled and answered in ${language}${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`,
      () =>
        withFolder(async (folder) => {
          const script = blocks.map((block) => block.text).join('\n')
          const child = spawn(
            'bash',
            ['-c', `set -euo pipefail\n${script.replaceAll(ADDRESS, new URL(server.url).host)}`],
            {
              cwd: folder,
              stdio: ['ignore', 'pipe', 'pipe'],
              env: {
                ...process.env,
                PATH: [join(ROOT, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
                CARGO_TARGET_DIR: CARGO_TARGET,
              },
            },
          )
          const [printed, complaints, [code]] = await Promise.all([
            text(child.stdout),
            text(child.stderr),
            once(child, 'close'),
          ])
          expect(code, complaints).toBe(0)
          const { version } = (await (await fetch(`${server.url}/api/v1/version`)).json()) as {
            version: string
          }
          // Maven ends its output with a colour code, also where nobody sees colours.
          expect(stripVTControlCharacters(printed).trim().split('\n').at(-1)).toBe(version)
        }),
      TIMEOUT_MS,
    )
  }
})
