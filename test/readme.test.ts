import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { COMMANDS, helpText } from '../scripts/help/commands.mjs'
import { fingerprint, planInstallation } from '../scripts/setup/npm-packages.mjs'
import { parseAllowedHosts } from '../src/platform/outbound/allowed-hosts.ts'
import { type Block, blocksOf, codeOf, ROOT, readPage, tableBelow } from './support/markdown.ts'
import { startTestServer, type TestServer } from './support/server.ts'

const blocks = blocksOf(readPage('README.md'))
const contributing = readPage('docs/CONTRIBUTING.md')

/** The address in the examples, which the tests replace by that of their server. */
const ADDRESS = '127.0.0.1:8080'

/** Everything that the API has. */
const SERVICES = await loadServices()

const DEBIAN_PYTHON = '/usr/bin/python3'

/** The services of all files in gen/. */
async function loadServices(): Promise<DescService[]> {
  const folder = join(ROOT, 'gen', 'branchline', 'v1')
  const files = readdirSync(folder).filter((name) => name.endsWith('_service_pb.ts'))
  const modules: Record<string, unknown>[] = await Promise.all(
    files.map((name) => import(join(folder, name))),
  )
  return modules.flatMap((module) => Object.values(module).filter(isService))
}

function isService(value: unknown): value is DescService {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service'
}

/**
 * Commands that are tested on their own: one serves until it is stopped, the other would run this
 * very test.
 */
const MAIN_COMMANDS = ['npm start\n', 'npm test\n']

/** The command that runs TypeScript, on the file that the README names. */
const RUN_TS = blocks.find(({ text: source }) => source.startsWith('npx esbuild'))?.text ?? ''
const TS_FILE = 'user.ts'

/** The blocks that run, with what the pages say they print. The tour continues the README. */
const exampleBlocks = [...blocks, ...blocksOf(readPage('docs/tour.md'))]
const examples = exampleBlocks.flatMap((block, i) => {
  const isApart = [...MAIN_COMMANDS, RUN_TS].includes(block.text)
  if (!['sh', 'ts', 'python'].includes(block.language) || isApart) return []
  const next = exampleBlocks[i + 1]
  return [
    {
      ...block,
      printed: next?.follows && ['json', 'text'].includes(next.language) ? next : undefined,
    },
  ]
})

const hasCurl = spawnSync('curl', ['--version']).status === 0
const hasPython = spawnSync(DEBIAN_PYTHON, ['-c', 'import grpc, google.protobuf']).status === 0

/** Why a block cannot run here; undefined if it can. */
function obstacleTo({ language }: Block): string | undefined {
  // Every example needs the account and the token that the first ones make with curl.
  if (!hasCurl) return 'curl is not installed'
  return language === 'python' && !hasPython ? 'python3-grpcio is not installed' : undefined
}

/** Times differ from run to run. */
function withoutTimes(json: string): unknown {
  return JSON.parse(json, (_, value) =>
    typeof value === 'string' ? value.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, '(a time)') : value,
  )
}

/** Settings of whoever runs the tests must not reach the servers that they start. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('BRANCHLINE_')),
  )
}

describe('the examples in README.md and docs/tour.md', () => {
  let server: TestServer
  let folder: string
  const runnable = examples.map((example) => ({ ...example, obstacle: obstacleTo(example) }))

  /**
   * All examples in one shell, as a reader would type them; what each of them prints in a file of
   * its own.
   */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'branchline-readme-'))
    // The example of webhooks says that it needs this.
    server = await startTestServer({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
    const commands = await Promise.all(
      runnable.map(async ({ language, text: source, obstacle }, i) => {
        const code = source.replaceAll(ADDRESS, new URL(server.url).host)
        const command =
          obstacle === undefined
            ? await commandFor(language, code, join(folder, `example-${i}`))
            : ':'
        return `{\n${command}\n} > '${folder}/printed-${i}'\n`
      }),
    )
    const child = spawn('bash', ['-c', ['set -euo pipefail', ...commands].join('\n')], {
      cwd: ROOT,
      env: {
        ...cleanEnvironment(),
        // For the clones.
        TMPDIR: folder,
        PATH: [join(ROOT, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
      },
    })
    const [complaints, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    if (code !== 0) throw new Error(`an example failed: ${complaints}`)
  })

  afterAll(async () => {
    await server?.stop()
    await rm(folder, { recursive: true })
  })

  /** The shell command that runs an example. */
  async function commandFor(language: string, code: string, path: string): Promise<string> {
    if (language === 'sh') return code
    if (language === 'python') {
      await writeFile(`${path}.py`, code)
      return `${DEBIAN_PYTHON} '${path}.py'`
    }
    await writeFile(`${path}.ts`, code)
    return RUN_TS.replace(TS_FILE, `'${path}.ts'`)
  }

  it('say by which command TypeScript runs', () => {
    expect(RUN_TS).toContain(`< ${TS_FILE} | node`)
  })

  it('are there in every language that the page promises', () => {
    expect(new Set(examples.map(({ language }) => language))).toEqual(
      new Set(['sh', 'ts', 'python']),
    )
  })

  for (const [i, { language, text: source, printed, obstacle }] of runnable.entries()) {
    if (!printed) continue
    const [firstLine = ''] = source.trim().split('\n')
    it.skipIf(obstacle)(
      `print what the page says: ${language}, ${firstLine}${obstacle ? ` (${obstacle})` : ''}`,
      async () => {
        const output = await readFile(join(folder, `printed-${i}`), 'utf8')
        const expected = printed.text.replaceAll(ADDRESS, new URL(server.url).host)
        if (printed.language === 'json')
          expect(withoutTimes(output)).toEqual(withoutTimes(expected))
        else expect(output).toBe(expected)
      },
    )
  }
})

describe('the two commands of README.md', () => {
  it('come first', () => {
    expect(blocks.slice(0, 2).map((block) => block.text)).toEqual(MAIN_COMMANDS)
  })

  it('include the one that the build machine runs', () => {
    expect(readFileSync(join(ROOT, '.ci', 'run'), 'utf8')).toMatch(/^npm test$/m)
    expect(packageJson.scripts.test).toBe('node scripts/test.mjs')
  })

  // In a clone that is not set up, npm start would install packages below the feet of the tests
  // that run beside this one.
  it.skipIf(!isSetUp())(
    'npm start serves until it is told to stop, and then exits with 0 (in a clone that is set up)',
    async () => {
      const data = await mkdtemp(join(tmpdir(), 'branchline-start-'))
      const child = spawn('npm', ['start', '--', '--listen', '127.0.0.1:0', '--data', data], {
        cwd: ROOT,
        env: cleanEnvironment(),
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      try {
        const exited = once(child, 'exit')
        const url = await readyUrl(child.stdout)
        expect(await (await fetch(`${url}/readyz`)).text()).toBe('ready\n')
        child.kill('SIGTERM')
        expect(await exited).toEqual([0, null])
        await expect(fetch(`${url}/readyz`)).rejects.toThrow('fetch failed')
      } finally {
        endGroup(child.pid)
        await rm(data, { recursive: true })
      }
    },
  )
})

/** Whether the npm packages are those of the lock file, by the stamp that set-up leaves. */
function isSetUp(): boolean {
  const stamp = join(ROOT, 'node_modules', '.branchline-setup')
  const current = fingerprint({
    lock: readPage('package-lock.json'),
    manifest: readPage('package.json'),
    nodeVersion: process.version,
    platform: `${process.platform}-${process.arch}`,
  })
  const text = existsSync(stamp) ? readFileSync(stamp, 'utf8') : undefined
  return planInstallation(text, current, 'production') === 'nothing'
}

async function readyUrl(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    const [, url] = /^branchline listening on (\S+)$/.exec(line) ?? []
    if (url !== undefined) return url
  }
  throw new Error('npm start ended before it was ready')
}

/** Whatever a failed test left running. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group is gone, as it should be.
  }
}

describe('the lists in the documentation', () => {
  it('docs/methods.md has every method that the server serves', async () => {
    const page = readPage('docs/methods.md')
    const listed = [...page.matchAll(/^## (\w+Service)$/gm)].flatMap(([heading, service]) =>
      tableBelow(page, heading).flatMap(([method = '']) =>
        codeOf(method).map((name) => `${service}.${name}`),
      ),
    )
    const server = await startTestServer()
    try {
      const served = await Promise.all(
        SERVICES.flatMap(({ methods }) => methods).map(async (method) =>
          (await isServed(server.url, method)) ? [`${method.parent.name}.${method.name}`] : [],
        ),
      )
      expect(listed.sort()).toEqual(served.flat().sort())
    } finally {
      await server.stop()
    }
  })

  it('npm run help has every command of package.json', () => {
    const listed = Object.values(COMMANDS).flatMap((group) => group.map(([name]) => name))
    expect([...new Set(listed)].sort()).toEqual(Object.keys(packageJson.scripts).sort())
  })

  it('docs/CONTRIBUTING.md has what npm run help prints', () => {
    expect(blocksOf(contributing).map((block) => block.text)).toContain(helpText(COMMANDS))
  })

  it('docs/CONTRIBUTING.md has a tree of files and folders that exist', () => {
    const tree = blocksOf(contributing).find(({ text }) => text.startsWith('proto/'))?.text ?? ''
    const paths = tree
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ', 1)[0] ?? '')
    expect(paths).toHaveLength(11)
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

/**
 * An empty call to what is served is answered somehow, if only that it lacks credentials; else the
 * path is unknown.
 */
async function isServed(url: string, { parent, name }: DescMethod): Promise<boolean> {
  const response = await fetch(`${url}/${parent.typeName}/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  return !(await response.text()).includes('UNKNOWN_PATH')
}
