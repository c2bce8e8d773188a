// Renovate with the platform `gitea`. Bob has a repository whose package.json asks for an old package.
// The variable RENOVATE names the folder in which Renovate is installed.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { call, tokens, url } from './calls.mjs'
import { commitFile, createRepository, rest } from './rest.mjs'

const home = await mkdtemp(join(tmpdir(), 'branchline-renovate-'))
const program = join(process.env.RENOVATE ?? '', 'node_modules/renovate/dist/renovate.js')

/** @param {...string} options */
async function renovate(...options) {
  // With the settings of the machine for the registry of npm.
  const env = { ...process.env, HOME: home, RENOVATE_BASE_DIR: home, LOG_LEVEL: 'warn' }
  const place = ['--platform=gitea', `--endpoint=${url}/api/v1/`, `--token=${tokens.bob}`]
  const author = '--git-author=Bob <bob@example.org>'
  const args = [program, ...place, author, '--require-config=optional', ...options]
  await promisify(execFile)(process.execPath, args, { env })
}

/** @param {string} repo */
async function pulls(repo) {
  const found = await rest('GET', `/repos/bob/${repo}/pulls?state=all`)
  return found.map((/** @type {any} */ { head, state, labels }) => [
    head.ref,
    state,
    labels.map((/** @type {any} */ { name }) => name).join(),
  ])
}

const PACKAGE = { name: 'app', version: '1.0.0', dependencies: { 'left-pad': '1.0.0' } }

try {
  for (const name of ['app', 'new']) {
    await createRepository(name)
    await commitFile(name, 'package.json', JSON.stringify(PACKAGE))
  }
  await rest('POST', '/repos/bob/app/labels', { name: 'update', color: '#00aa00' })
  await call('--dry-run=full changes nothing', [], async () => {
    await renovate('--onboarding=false', '--dry-run=full', 'bob/app')
    return pulls('app')
  })
  await call('proposes a configuration', [['renovate/configure', 'open', '']], async () => {
    await renovate('bob/new')
    return pulls('new')
  })
  await call('proposes an update once', [['renovate/left-pad-1.x', 'open', 'update']], async () => {
    for (let run = 0; run < 2; run++)
      await renovate('--onboarding=false', '--labels=update', 'bob/app')
    return pulls('app')
  })
  await call('merges an update by itself', ['1.3.0'], async () => {
    const merging = ['--automerge=true', '--platform-automerge=false', '--ignore-tests=true']
    await renovate('--onboarding=false', '--labels=update', ...merging, 'bob/app')
    const { content } = await rest('GET', '/repos/bob/app/contents/package.json')
    return Object.values(JSON.parse(Buffer.from(content, 'base64').toString()).dependencies)
  })
} finally {
  await rm(home, { recursive: true })
}
