// `fj`, the command line of Forgejo. Bob has the repository engine with a branch and works in a clone
// of it, because several commands read the repository from there.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { call, password, tokens, url } from './calls.mjs'

const home = await mkdtemp(join(tmpdir(), 'branchline-fj-'))
const clone = join(home, 'engine')
const env = { PATH: process.env.PATH, HOME: home, GIT_TERMINAL_PROMPT: '0', EDITOR: 'true' }
const run = promisify(execFile)

/** Runs `fj` and returns true if the output has a text, and the output otherwise. */
function says(/** @type {string} */ text, /** @type {string[]} */ ...args) {
  return async () => {
    const cwd = await isThere(clone)
    const program = process.env.FJ ?? 'fj'
    const failed = (/** @type {{ stderr: string }} */ { stderr }) => {
      throw new Error(stderr.split('\n')[0])
    }
    const { stdout, stderr } = await run(program, ['-H', url, ...args], { env, cwd }).catch(failed)
    const output = stdout + stderr
    return output.includes(text) || output.trim()
  }
}

async function isThere(/** @type {string} */ folder) {
  return run('git', ['-C', folder, 'status']).then(
    () => folder,
    () => home,
  )
}

async function git(/** @type {string[]} */ ...args) {
  const identity = ['-c', 'user.name=Bob', '-c', 'user.email=bob@example.org']
  await run('git', ['-C', home, ...identity, ...args], { env })
}

try {
  await makeCalls()
} finally {
  await rm(home, { recursive: true })
}

async function makeCalls() {
  await call('auth add-token', true, says('', 'auth', 'add-token', tokens.bob))
  await call('auth list', true, says(new URL(url).host, 'auth', 'list'))
  await call('whoami', true, says('bob', 'whoami'))
  await makeAccountCalls()
  await call('repo create', true, says('engine', 'repo', 'create', 'engine', '-d', 'Fast'))
  await push()
  await makeRepositoryCalls()
  await makePullCalls()
  await makeReleaseCalls()
  await makeOrganizationCalls()
  await call('repo delete', true, async () => {
    const program = process.env.FJ ?? 'fj'
    const child = run(program, ['-H', url, 'repo', 'delete', 'bob/engine'], { env, cwd: home })
    child.child.stdin?.end('bob/engine\n')
    return (await child).stdout.length > 0
  })
}

async function makeAccountCalls() {
  await call('user search', true, says('carol', 'user', 'search', 'caro'))
  await call('user view', true, says('carol', 'user', 'view', 'carol'))
  await call('user edit location', true, says('', 'user', 'edit', 'location', 'Paris'))
  await call('user follow', true, says('carol', 'user', 'follow', 'carol'))
  await call('user following', true, says('carol', 'user', 'following'))
  await call('user followers', true, says('', 'user', 'followers'))
  await call('user unfollow', true, says('carol', 'user', 'unfollow', 'carol'))
  await call('user repos', true, says('', 'user', 'repos'))
  await call('user orgs', true, says('', 'user', 'orgs'))
  await call('user key list', true, says('', 'user', 'key', 'list'))
  await call('user gpg list', true, says('', 'user', 'gpg', 'list'))
}

/** Makes the clone, with the branches main and feature. */
async function push() {
  await git('init', '-q', '-b', 'main', 'engine')
  await git('-C', clone, 'remote', 'add', 'origin', `${url}/bob/engine.git`)
  // Credentials in the address of the remote would be those of the API calls, too.
  const header = `Authorization: Basic ${btoa(`bob:${password}`)}`
  await git('-C', clone, 'config', 'http.extraHeader', header)
  for (const branch of ['main', 'feature']) {
    await git('-C', clone, 'checkout', '-q', '-B', branch)
    await writeFile(join(clone, `${branch}.md`), `# ${branch}\n`)
    if (branch === 'main') await writeFile(join(clone, 'README.md'), '# Engine\n')
    await git('-C', clone, 'add', '.')
    await git('-C', clone, 'commit', '-q', '-m', `Add ${branch}`)
    await git('-C', clone, 'push', '-q', '-u', 'origin', branch)
  }
}

async function makeRepositoryCalls() {
  await call('repo view', true, says('Fast', 'repo', 'view', 'bob/engine'))
  await call('repo readme', true, says('Engine', 'repo', 'readme', 'bob/engine'))
  await call('repo edit', true, says('', 'repo', 'edit', 'bob/engine', '-d', 'Faster'))
  await call('repo clone', true, says('', 'repo', 'clone', 'bob/engine', join(home, 'second')))
  await call('repo star', true, says('', 'repo', 'star', 'bob/engine'))
  await call('repo star-status', true, says('', 'repo', 'star-status', 'bob/engine'))
  await call('repo watch', true, says('', 'repo', 'watch', 'bob/engine'))
  await call(
    'repo labels create',
    true,
    says('bug', 'repo', 'labels', 'bob/engine', 'create', 'bug', '#ee0701'),
  )
  await call('repo labels view', true, says('bug', 'repo', 'labels', 'bob/engine', 'view'))
  await call(
    'milestone create',
    true,
    says(
      '',
      'milestone',
      '-r',
      'bob/engine',
      'create',
      '--state',
      'open',
      '--description',
      'First',
      'v1',
    ),
  )
  await call('milestone search', true, says('v1', 'milestone', '-r', 'bob/engine', 'search'))
  await call('tag create', true, says('v1.0.0', 'tag', 'create', '-r', 'bob/engine', 'v1.0.0'))
  await call('tag list', true, says('v1.0.0', 'tag', 'list', '-r', 'bob/engine'))
  await call('tag view', true, says('v1.0.0', 'tag', 'view', '-r', 'bob/engine', 'v1.0.0'))
}

async function makePullCalls() {
  const home = ['-r', 'bob/engine']
  await call(
    'pr create',
    true,
    says(
      'A feature',
      'pr',
      'create',
      ...home,
      '--base',
      'main',
      '--head',
      'feature',
      'A feature',
      '--body',
      'Text',
    ),
  )
  await call('pr search', true, says('A feature', 'pr', 'search', ...home))
  await call('pr view', true, says('A feature', 'pr', 'view', '1'))
  await call('pr view files', true, says('feature.md', 'pr', 'view', '1', 'files'))
  await call('pr view commits', true, says('Add feature', 'pr', 'view', '1', 'commits'))
  await call('pr view diff', true, says('+# feature', 'pr', 'view', '1', 'diff'))
  await call('pr comment', true, says('', 'pr', 'comment', '1', 'Hello'))
  await call('pr view comments', true, says('Hello', 'pr', 'view', '1', 'comments'))
  await call('pr edit title', true, says('', 'pr', 'edit', '1', 'title', 'The feature'))
  await call('pr edit body', true, says('', 'pr', 'edit', '1', 'body', 'More'))
  await call('pr edit labels', true, says('', 'pr', 'edit', '1', 'labels', '-a', 'bug'))
  await call('pr view labels', true, says('bug', 'pr', 'view', '1', 'labels'))
  await call('pr assign', true, says('', 'pr', 'assign', '-p', '1', 'bob'))
  await call('pr unassign', true, says('', 'pr', 'unassign', '-p', '1', 'bob'))
  await call('pr review list', true, says('', 'pr', 'review', '1', 'list'))
  await call('pr status', true, says('', 'pr', 'status', '1'))
  await call('pr checkout', true, says('', 'pr', 'checkout', '1'))
  await call('pr merge', true, says('', 'pr', 'merge', '1', '-M', 'squash'))
  await call('pr view of a merged one', true, says('erged', 'pr', 'view', '1'))
  await git('-C', clone, 'checkout', '-q', '-B', 'proposal', 'origin/main')
  await writeFile(join(clone, 'proposal.md'), '# proposal\n')
  await git('-C', clone, 'add', '.')
  await git('-C', clone, 'commit', '-q', '-m', 'Add proposal')
  // This command pushes by itself, and asks the helper of Git for the password.
  const answer = `echo username=bob; echo "password=${password}"`
  await git('-C', clone, 'config', 'credential.helper', `!f() { ${answer}; }; f`)
  await call('pr create --agit', true, async () => {
    const program = process.env.FJ ?? 'fj'
    const wanted = ['--agit', '--base', 'main', 'A proposal', '--body', 'Text']
    const child = run(program, ['-H', url, 'pr', 'create', ...wanted], { env, cwd: clone })
    // It asks whether to keep the credentials.
    child.child.stdin?.end('n\n')
    return (await child).stdout.includes('created pull request: A proposal')
  })
}

async function makeReleaseCalls() {
  const place = ['-r', 'bob/engine']
  const file = join(home, 'engine.bin')
  await writeFile(file, 'binary')
  await call(
    'release create',
    true,
    says('First', 'release', 'create', ...place, 'First', '-t', 'v1.0.0', '-b', 'Notes'),
  )
  await call('release list', true, says('First', 'release', 'list', ...place))
  await call('release view', true, says('Notes', 'release', 'view', ...place, 'First'))
  await call(
    'release asset create',
    true,
    says('', 'release', 'asset', ...place, 'create', 'First', file),
  )
  await call(
    'release asset download',
    true,
    says('', 'release', 'asset', ...place, 'download', 'First', 'engine.bin', '-o', `${file}.copy`),
  )
  await call('release delete', true, says('', 'release', 'delete', ...place, 'First'))
}

async function makeOrganizationCalls() {
  await call('org create', true, says('', 'org', 'create', 'acme', '-d', 'Brakes'))
  await call('org list', true, says('acme', 'org', 'list'))
  await call('org view', true, says('Brakes', 'org', 'view', 'acme'))
  await call('org edit', true, says('', 'org', 'edit', 'acme', '-d', 'Wheels'))
  await call('org members', true, says('bob', 'org', 'members', 'acme'))
  await call(
    'org team create',
    true,
    says('', 'org', 'team', 'create', 'acme', 'brakes', '-r', 'code', '-w', 'pulls'),
  )
  await call('org team list', true, says('brakes', 'org', 'team', 'list', 'acme'))
  await call(
    'org team member add',
    true,
    says('', 'org', 'team', 'member', 'add', 'acme', 'brakes', 'carol'),
  )
  await call(
    'org team member list',
    true,
    says('carol', 'org', 'team', 'member', 'list', 'acme', 'brakes'),
  )
  await call('org label add', true, says('', 'org', 'label', 'add', 'acme', 'bug', 'ee0701'))
  await call('org label list', true, says('bug', 'org', 'label', 'list', 'acme'))
  await call('org repo create', true, says('', 'org', 'repo', 'create', 'acme', 'wheels'))
  await call('org repo list', true, says('wheels', 'org', 'repo', 'list', 'acme'))
  await call('user block', true, says('', 'user', 'block', 'carol'))
  await call('user unblock', true, says('', 'user', 'unblock', 'carol'))
}
