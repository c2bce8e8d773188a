// semantic-release with its plugin for Gitea, in a clone of a repository of bob. The variable
// SEMANTIC_RELEASE names the folder in which both are installed.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { call, tokens, url } from './calls.mjs'
import { commitFile, createRepository, rest } from './rest.mjs'

const home = await mkdtemp(join(tmpdir(), 'branchline-release-'))
const clone = join(home, 'app')
const modules = join(process.env.SEMANTIC_RELEASE ?? '', 'node_modules')
const run = promisify(execFile)
const env = {
  ...{ PATH: process.env.PATH, HOME: home, GITEA_TOKEN: tokens.bob, GIT_TERMINAL_PROMPT: '0' },
  ...{ GIT_CONFIG_COUNT: '0', GIT_CONFIG_NOSYSTEM: '1' },
}

async function release() {
  await run('git', ['-C', clone, 'pull', '-q', '--tags'], { env })
  const program = join(modules, 'semantic-release/bin/semantic-release.js')
  await run(process.execPath, [program, '--no-ci'], { env, cwd: clone })
  const releases = await rest('GET', '/repos/bob/app/releases')
  return releases.map((/** @type {any} */ { tag_name, assets, body }) => [
    tag_name,
    assets.map((/** @type {any} */ { name }) => name).join(),
    /\* (.*) \(/.exec(body)?.[1]?.replace(/ \(\[.*/, ''),
  ])
}

try {
  await createRepository('app')
  await commitFile('app', 'index.js', 'exports.one = 1\n', 'feat: count to one')
  const remote = `${url.replace('://', `://bob:${tokens.bob}@`)}/bob/app.git`
  await run('git', ['clone', '-q', remote, clone], { env })
  const plugin = ['@saithodev/semantic-release-gitea', { giteaUrl: url, assets: ['index.js'] }]
  const plugins = ['@semantic-release/commit-analyzer', '@semantic-release/release-notes-generator']
  const config = { branches: ['main'], repositoryUrl: remote, plugins: [...plugins, plugin] }
  await writeFile(join(clone, '.releaserc.json'), JSON.stringify(config))
  const first = ['v1.0.0', 'index.js', 'count to one']
  await call('makes the first release, with an asset', [first], release)
  await call('makes none without a change', [first], release)
  await call(
    'makes the next release',
    [['v1.0.1', 'index.js', 'count faster'], first],
    async () => {
      await commitFile('app', 'faster.js', 'exports.two = 2\n', 'fix: count faster')
      return release()
    },
  )
} finally {
  await rm(home, { recursive: true })
}
