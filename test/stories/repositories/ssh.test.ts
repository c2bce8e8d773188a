import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type Actor, PASSWORD } from '../../support/server.ts'
import { startSshAgent } from '../../support/ssh-agent.ts'
import {
  createSshKey,
  hasSsh,
  runSsh,
  type SshOutcome,
  sshOptions,
} from '../../support/ssh-client.ts'
import { newSshSigner } from '../../support/ssh-signing.ts'

const { ask, client, server, users, checkObjects } = await openForge({
  ssh: { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] },
})

const port = Number(server.sshAddress?.split(':').at(-1))
let keys = 0
/** A key of carol's for tests that need no other one. */
let anyKey: string | undefined

/** Creates a key of an account, and returns the name of its file. */
async function keyOf(who: Actor, options: object = {}, ...type: string[]): Promise<string> {
  keys += 1
  const name = `key-${keys}`
  const key = await createSshKey(client.home, name, ...type)
  await ask(who, 'POST', '/user/keys', { title: name, key, ...options })
  return name
}

async function deployKeyOf(repository: string, readOnly: boolean, owner = 'bob'): Promise<string> {
  keys += 1
  const name = `key-${keys}`
  const key = await createSshKey(client.home, name)
  await ask(users.bob, 'POST', `/repos/${owner}/${repository}/keys`, {
    title: name,
    key,
    read_only: readOnly,
  })
  return name
}

function ssh(key: string | undefined, ...command: string[]): Promise<SshOutcome> {
  return sshAs('git', key, ...command)
}

function sshAs(login: string, key: string | undefined, ...command: string[]): Promise<SshOutcome> {
  const options = sshOptions(client.home, key)
  return runSsh([...options, '-p', String(port), `${login}@127.0.0.1`, ...command])
}

/** Runs Git with a key. */
function git(key: string, folder: string, ...args: string[]): Promise<string> {
  const command = ['ssh', ...sshOptions(client.home, key)].join(' ')
  return client.git(folder, '-c', `core.sshCommand=${command}`, ...args)
}

function urlOf(path: string): string {
  return `ssh://git@127.0.0.1:${port}/${path}.git`
}

async function create(name: string, options: object = {}): Promise<void> {
  await ask(users.bob, 'POST', '/user/repos', { name, auto_init: true, ...options })
}

describe.skipIf(!hasSsh)('Git over SSH (skipped where ssh is not installed)', () => {
  it('clones, fetches and pushes as over HTTP, in every version of the protocol', async () => {
    await create('plain')
    const key = await keyOf(users.bob)
    expect((await ask(users.bob, 'GET', '/repos/bob/plain')).ssh_url).toBe(urlOf('bob/plain'))
    for (const version of ['0', '1', '2']) {
      const folder = `plain-${version}`
      await git(
        key,
        '.',
        '-c',
        `protocol.version=${version}`,
        'clone',
        '-q',
        urlOf('bob/plain'),
        folder,
      )
      const commit = await client.commit(folder, `by version ${version}`)
      await git(key, folder, '-c', `protocol.version=${version}`, 'push', '-q', 'origin', 'HEAD')
      const overHttp = await client.git(
        '.',
        'ls-remote',
        remoteOf(server.url, 'bob/plain', 'bob', PASSWORD),
      )
      expect(overHttp).toContain(`${commit}\trefs/heads/main`)
      const list = ['-c', `protocol.version=${version}`, 'ls-remote', urlOf('bob/plain')]
      expect(await git(key, '.', ...list)).toBe(overHttp)
      await git(key, 'plain-0', '-c', `protocol.version=${version}`, 'pull', '-q')
      expect(await client.git('plain-0', 'rev-parse', 'HEAD')).toBe(commit)
    }
    await checkObjects()
  })

  it('creates, moves and deletes branches and tags, all or none', async () => {
    await create('refs')
    const key = await keyOf(users.bob)
    await git(key, '.', 'clone', '-q', '--depth', '1', urlOf('bob/refs'), 'refs')
    await client.commit('refs', 'one')
    await client.git('refs', 'tag', 'v1')
    await git(key, 'refs', 'push', '-q', '--atomic', 'origin', 'HEAD:main', 'HEAD:side', 'v1')
    expect(await git(key, 'refs', 'ls-remote', 'origin')).toMatch(/heads\/side.*tags\/v1/s)
    await git(key, 'refs', 'push', '-q', 'origin', ':side', ':v1')
    expect(await git(key, 'refs', 'ls-remote', 'origin')).not.toMatch(/side|v1/)
    expect(await git(key, 'refs', 'push', 'origin', 'HEAD:main')).toBe('')
    await client.git('refs', 'commit', '-q', '--amend', '-m', 'two', '--allow-empty')
    await expect(git(key, 'refs', 'push', 'origin', 'HEAD:main')).rejects.toThrow('rejected')
    await git(key, 'refs', 'push', '-q', '--force', 'origin', 'HEAD:main')
    await git(key, '.', 'clone', '-q', '--filter=blob:none', urlOf('bob/refs'), 'partial')
  })

  it('refuses by the rules of pushes over HTTP', async () => {
    await create('ruled')
    await ask(users.bob, 'POST', '/repos/bob/ruled/branch_protections', { rule_name: 'main' })
    const key = await keyOf(users.bob)
    await git(key, '.', 'clone', '-q', urlOf('bob/ruled'), 'ruled')
    await client.commit('ruled', 'not allowed')
    await expect(git(key, 'ruled', 'push', 'origin', 'HEAD:main')).rejects.toThrow(/rejected/)
  })

  it('moves a large push and a large clone whole', async () => {
    await create('large')
    const key = await keyOf(users.bob)
    await git(key, '.', 'clone', '-q', urlOf('bob/large'), 'large')
    await client.git('large', 'config', 'core.compression', '0')
    await writeFile(join(client.home, 'large', 'file'), randomBytes(8 * 1024 * 1024))
    await client.git('large', 'add', '.')
    const commit = await client.commit('large', 'large')
    await git(key, 'large', 'push', '-q', 'origin', 'HEAD')
    await git(key, '.', 'clone', '-q', urlOf('bob/large'), 'large-again')
    expect(await client.git('large-again', 'rev-parse', 'HEAD')).toBe(commit)
    await client.git('large-again', 'fsck', '--full')
  })

  it.each([
    ['Ed25519', ['-t', 'ed25519']],
    ['ECDSA 256', ['-t', 'ecdsa', '-b', '256']],
    ['ECDSA 384', ['-t', 'ecdsa', '-b', '384']],
    ['ECDSA 521', ['-t', 'ecdsa', '-b', '521']],
    ['RSA', ['-t', 'rsa', '-b', '2048']],
  ])('takes keys of type %s, and greets', async (_, type) => {
    const key = await keyOf(users.bob, {}, ...type)
    expect(await ssh(key)).toEqual({
      code: 0,
      stdout: '',
      stderr: `Hi bob! You've successfully authenticated with the key named ${key}, but Branchline does not provide shell access.\n`,
    })
  })

  it('refuses unknown keys, other login names, and RSA with SHA-1', async () => {
    const key = await keyOf(users.bob)
    await createSshKey(client.home, 'unknown')
    expect((await ssh('unknown')).stderr).toContain('Permission denied (publickey)')
    for (const login of ['root', 'Git', 'bob'])
      expect((await sshAs(login, key)).stderr).toContain('Permission denied (publickey)')
    const rsa = await keyOf(users.bob, {}, '-t', 'rsa', '-b', '2048')
    const options = [...sshOptions(client.home, rsa), '-o', 'PubkeyAcceptedAlgorithms=ssh-rsa']
    const { stderr } = await runSsh([...options, '-p', String(port), 'git@127.0.0.1'])
    expect(stderr).not.toContain('successfully')
  })

  it('lets a user in whose agent has many keys, up to thirty others', async () => {
    const key = await keyOf(users.bob)
    const others: string[] = []
    for (let i = 0; i < 31; i++) {
      // The client offers a key of which it has the public half only.
      const type = Buffer.from('ssh-ed25519')
      const parts = [type, randomBytes(32)].flatMap((part) => [
        Buffer.from([0, 0, 0, part.length]),
        part,
      ])
      const path = join(client.home, `other-${i}`)
      await writeFile(`${path}.pub`, `ssh-ed25519 ${Buffer.concat(parts).toString('base64')}\n`)
      others.push('-o', `IdentityFile=${path}`)
    }
    const offer = (count: number) =>
      runSsh([
        ...sshOptions(client.home, undefined),
        ...['-o', 'IdentitiesOnly=yes', ...others.slice(0, 2 * count)],
        ...['-o', `IdentityFile=${join(client.home, key)}`, '-p', String(port), 'git@127.0.0.1'],
      ])
    expect((await offer(11)).stderr).toContain('Hi bob!')
    expect((await offer(31)).stderr).toMatch(/Received disconnect from .*:14:/)
  })

  it('acts for the key that signed, not for one that was offered before', async () => {
    const [offered, signing] = [await keyOf(users.bob), await keyOf(users.carol)]
    // The client cannot sign by the first key, which the server would accept.
    await rm(join(client.home, offered))
    const keys = [offered, signing].flatMap((key) => [
      '-o',
      // `-i` would leave out the key without a private half.
      `IdentityFile=${join(client.home, key)}`,
    ])
    const options = [...sshOptions(client.home, undefined), '-o', 'IdentitiesOnly=yes']
    const both = [...options, ...keys, '-p', String(port)]
    expect((await runSsh([...both, 'git@127.0.0.1'])).stderr).toContain('Hi carol!')
  })

  it('gives no way to find out which repositories exist', async () => {
    await create('secret', { private: true })
    const key = await keyOf(users.carol)
    const refusal = { code: 1, stdout: '', stderr: 'Branchline: Repository not found.\n' }
    for (const verb of ['git-upload-pack', 'git-receive-pack']) {
      expect(await ssh(key, `${verb} 'bob/secret.git'`)).toEqual(refusal)
      expect(await ssh(key, `${verb} 'bob/missing.git'`)).toEqual(refusal)
    }
    await create('open')
    await ask(users.bob, 'PATCH', '/repos/bob/open', { has_pull_requests: false })
    expect(await ssh(key, "git-receive-pack 'bob/open'")).toEqual({
      ...refusal,
      stderr: 'Branchline: User permission denied for writing.\n',
    })
  })

  it('opens pull requests of readers, but not of deploy keys', async () => {
    await create('proposed')
    const key = await keyOf(users.carol)
    const url = `ssh://git@127.0.0.1:${port}/bob/proposed.git`
    await git(key, '.', 'clone', '-q', url, 'proposed')
    const head = await client.commit('proposed', 'A proposal')
    await git(key, 'proposed', 'push', '-q', '-o', 'topic=x', 'origin', 'HEAD:refs/for/main')
    expect(await ask(users.bob, 'GET', '/repos/bob/proposed/pulls/1')).toMatchObject({
      title: 'A proposal',
      agit_topic: 'carol/x',
      head: { sha: head },
    })
    const branch = git(key, 'proposed', 'push', 'origin', 'HEAD:refs/heads/x')
    await expect(branch).rejects.toThrow('User permission denied for writing.')
    const deployKey = await deployKeyOf('proposed', false)
    const proposal = git(deployKey, 'proposed', 'push', url, 'HEAD:refs/for/main/y')
    await expect(proposal).rejects.toThrow('a deploy key cannot open pull requests')
  })

  it('follows renames, and says so', async () => {
    await create('before')
    const key = await keyOf(users.bob)
    await ask(users.bob, 'PATCH', '/repos/bob/before', { name: 'after' })
    const { stderr, stdout } = await ssh(key, "git-upload-pack '/bob/before.git'")
    expect(stderr).toContain('Branchline: the repository is now at bob/after\n')
    expect(stdout).toContain('refs/heads/main')
  })

  it('refuses pushes to archived repositories', async () => {
    await create('old')
    const key = await keyOf(users.bob)
    await ask(users.bob, 'PATCH', '/repos/bob/old', { archived: true })
    const { code, stderr } = await ssh(key, "git-receive-pack 'bob/old'")
    expect([code, stderr]).toEqual([1, expect.stringContaining('This repo is archived.')])
    expect(await git(key, '.', 'ls-remote', urlOf('bob/old'))).toContain('refs/heads/main')
  })

  it('only fetches by a read-only key', async () => {
    await create('readable')
    const key = await keyOf(users.bob, { read_only: true })
    expect(await git(key, '.', 'ls-remote', urlOf('bob/readable'))).toContain('refs/heads/main')
    const { code, stderr } = await ssh(key, "git-receive-pack 'bob/readable'")
    expect([code, stderr]).toEqual([1, 'Branchline: this key is read-only\n'])
  })

  it('gives a deploy key its own repository only', async () => {
    await create('deployed')
    await create('neighbour')
    const reader = await deployKeyOf('deployed', true)
    const writer = await deployKeyOf('deployed', false)
    expect((await ssh(reader)).stderr).toContain(
      `Hi there! You've successfully authenticated with the deploy key named ${reader},`,
    )
    await git(reader, '.', 'clone', '-q', urlOf('bob/deployed'), 'deployed')
    const commit = await client.commit('deployed', 'by a deploy key')
    expect(await ssh(reader, "git-receive-pack 'bob/deployed'")).toMatchObject({
      code: 1,
      stderr: 'Branchline: this deploy key is read-only\n',
    })
    await git(writer, 'deployed', 'push', '-q', 'origin', 'HEAD')
    expect(await git(writer, '.', 'ls-remote', urlOf('bob/deployed'))).toContain(commit)
    for (const key of [reader, writer])
      expect((await ssh(key, "git-upload-pack 'bob/neighbour'")).stderr).toBe(
        'Branchline: Repository not found.\n',
      )
    await ask(users.bob, 'POST', '/repos/bob/deployed/branch_protections', {
      rule_name: 'main',
      enable_push: true,
      enable_push_whitelist: true,
    })
    await client.commit('deployed', 'refused')
    await expect(git(writer, 'deployed', 'push', 'origin', 'HEAD')).rejects.toThrow(/rejected/)
    await ask(users.bob, 'PATCH', '/repos/bob/deployed/branch_protections/main', {
      push_whitelist_deploy_keys: true,
    })
    await git(writer, 'deployed', 'push', '-q', 'origin', 'HEAD')
  })

  it('lets a deploy key push for an organisation, but not move what its owners protect', async () => {
    await ask(users.bob, 'POST', '/orgs', { username: 'crew' })
    await ask(users.bob, 'POST', '/orgs/crew/repos', { name: 'ship', auto_init: true })
    const key = await deployKeyOf('ship', false, 'crew')
    await git(key, '.', 'clone', '-q', urlOf('crew/ship'), 'ship')
    const commit = await client.commit('ship', 'by a key of the crew')
    await git(key, 'ship', 'push', '-q', 'origin', 'HEAD')
    const branch = await ask(users.bob, 'GET', '/repos/crew/ship/branches/main')
    expect(branch.commit.id).toBe(commit)

    await ask(users.bob, 'POST', '/repos/crew/ship/tag_protections', {
      name_pattern: 'v*',
      whitelist_usernames: ['bob'],
    })
    await client.git('ship', 'tag', 'v1')
    await expect(git(key, 'ship', 'push', 'origin', 'v1')).rejects.toThrow(/Tag v1 is protected/)
    await git(await keyOf(users.bob), 'ship', 'push', '-q', 'origin', 'v1')
  })

  it.each(['sk-ssh-ed25519@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com'] as const)(
    'takes security keys of the type %s that a user has touched',
    async (type) => {
      const key = newSshSigner(type)
      await ask(users.carol, 'POST', '/user/keys', { title: type, key: key.line })
      for (const [flags, code] of [
        [1, 0],
        [0, 255],
      ] as const) {
        const agent = await startSshAgent(join(client.home, `agent-${type}-${flags}`), key, flags)
        const outcome = await runSsh([
          ...['-o', `IdentityAgent=${agent.path}`],
          ...sshOptions(client.home, undefined),
          ...['-p', String(port), 'git@127.0.0.1'],
        ])
        await agent.stop()
        expect(outcome.code, outcome.stderr).toBe(code)
      }
    },
  )

  it('archives files of what a ref reaches', async () => {
    await create('packed')
    const key = await keyOf(users.bob)
    await git(key, '.', 'clone', '-q', urlOf('bob/packed'), 'packed')
    await mkdir(join(client.home, 'packed', 'docs'))
    await writeFile(join(client.home, 'packed', 'docs', 'a.txt'), 'a')
    await client.git('packed', 'add', '.')
    const gone = await client.commit('packed', 'not reached')
    await git(key, 'packed', 'push', '-q', 'origin', 'HEAD:side')
    await git(key, 'packed', 'push', '-q', 'origin', ':side')
    await writeFile(join(client.home, 'packed', 'docs', 'a.txt'), 'b')
    await client.git('packed', 'commit', '-q', '-a', '--amend', '-m', 'reached')
    await git(key, 'packed', 'push', '-q', 'origin', 'HEAD')
    const commit = await client.git('packed', 'rev-parse', 'HEAD')
    const remote = `--remote=${urlOf('bob/packed')}`
    const archive = (...args: string[]) => git(key, 'packed', 'archive', remote, ...args)
    for (const format of ['tar', 'tar.gz', 'zip']) {
      const options = [`--format=${format}`, '--prefix=x/']
      await client.git('packed', 'archive', ...options, '-o', 'near', 'HEAD')
      await archive(...options, '-o', 'far', 'main')
      const [near, far] = ['near', 'far'].map((name) =>
        readFileSync(join(client.home, 'packed', name)),
      )
      expect(near?.equals(far ?? Buffer.alloc(0)), format).toBe(true)
    }
    expect(await archive(commit, 'docs')).toContain('docs/a.txt')
    expect(await archive('HEAD:docs')).not.toContain('docs/a.txt')
    expect(await archive('--list')).toBe('tar\nzip\ntar.gz')
    for (const [args, text] of [
      [[gone], `NACK no such ref: ${gone}`],
      [['main', 'missing'], 'NACK a path did not match any files'],
      [['--format=rar', 'main'], "NACK Unknown archive format 'rar'"],
      [['--mtime=now', 'main'], 'NACK the option --mtime=now is not supported'],
    ] as const)
      await expect(archive(...args), text).rejects.toThrow(text)
    const stranger = await keyOf(users.carol)
    await ask(users.bob, 'PATCH', '/repos/bob/packed', { private: true })
    expect(await ssh(stranger, "git-upload-archive 'bob/packed'")).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Branchline: Repository not found.\n',
    })
  })

  it('says when a key was used last', async () => {
    await create('used')
    const [mine, deploy] = [await keyOf(users.bob), await deployKeyOf('used', true)]
    const never = '0001-01-01T00:00:00Z'
    const usesOf = async (path: string, title: string) =>
      (await ask(users.bob, 'GET', path)).find((key: { title: string }) => key.title === title)
        .last_used_at
    expect(await usesOf('/user/keys', mine)).toBe(never)
    expect(await usesOf('/repos/bob/used/keys', deploy)).toBe(never)
    for (const key of [mine, deploy]) await git(key, '.', 'ls-remote', urlOf('bob/used'))
    await expect.poll(() => usesOf('/user/keys', mine)).not.toBe(never)
    await expect.poll(() => usesOf('/repos/bob/used/keys', deploy)).not.toBe(never)
  })

  it('counts sessions and connections', async () => {
    await create('counted')
    await git(await keyOf(users.bob), '.', 'ls-remote', urlOf('bob/counted'))
    const metrics = async () => (await fetch(new URL('/metrics', server.url))).text()
    expect(await metrics()).toMatch(
      /branchline_git_requests_total\{transport="ssh",service="git-upload-pack",status="0"\} \d/,
    )
    await expect.poll(metrics).toMatch(/branchline_ssh_handshakes_total\{result="accepted"\} [1-9]/)
    await expect.poll(metrics).toMatch(/branchline_ssh_bytes_total\{direction="out"\} [1-9]/)
  })

  it('tells its host keys to clients before they connect', async () => {
    const key = await keyOf(users.bob)
    const known = join(client.home, 'known_from_server')
    const page = await fetch(new URL('/-/known_hosts', server.url))
    await writeFile(known, await page.text())
    const { code } = await runSsh([
      ...['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${known}`],
      ...sshOptions(client.home, key),
      ...['-p', String(port), 'git@127.0.0.1'],
    ])
    expect(code).toBe(0)
    const served = await ask(undefined, 'GET', '/meta/ssh-host-keys')
    expect(served).toMatchObject({ host: '127.0.0.1', port, user: 'git' })
    expect(served.keys.map(({ type }: { type: string }) => type)).toEqual([
      'ssh-ed25519',
      'ecdsa-sha2-nistp256',
      'ssh-rsa',
    ])
    expect(served.keys[0].fingerprint).toMatch(/^SHA256:[\w+/]{43}$/)
  })

  it('shows administrators the sessions that run, and lets them end one', async () => {
    await create('watched')
    const key = await keyOf(users.bob)
    const child = spawn('ssh', [
      ...sshOptions(client.home, key),
      ...['-p', String(port), 'git@127.0.0.1', "git-receive-pack 'bob/watched'"],
    ])
    const closed = once(child, 'close')
    await once(child.stdout, 'data')
    const [{ id, ...session }] = await ask(users.ada, 'GET', '/admin/ssh/sessions')
    expect(session).toMatchObject({
      user: 'bob',
      address: '127.0.0.1',
      command: "git-receive-pack 'bob/watched'",
      key_fingerprint: expect.stringContaining('SHA256:'),
    })
    await ask(users.ada, 'DELETE', `/admin/ssh/sessions/${id}`)
    await closed
    expect(await ask(users.ada, 'GET', '/admin/ssh/sessions')).toEqual([])
  })

  it.each(['account', 'deploy'])('ends the sessions of a deleted %s key', async (kind) => {
    await create(`ended-${kind}`)
    const path = kind === 'account' ? '/user/keys' : `/repos/bob/ended-${kind}/keys`
    const key =
      kind === 'account' ? await keyOf(users.bob) : await deployKeyOf(`ended-${kind}`, false)
    const child = spawn('ssh', [
      ...sshOptions(client.home, key),
      ...['-p', String(port), 'git@127.0.0.1', `git-receive-pack 'bob/ended-${kind}'`],
    ])
    const closed = once(child, 'close')
    // The list of refs shows that the session runs. The client sends no commands.
    await once(child.stdout, 'data')
    const [{ id }] = (await ask(users.bob, 'GET', path)).filter(
      ({ title }: { title: string }) => title === key,
    )
    await ask(users.bob, 'DELETE', `${path}/${id}`)
    const [code] = await closed
    expect(code).not.toBe(0)
  })

  it('refuses a deleted key and an archived account', async () => {
    const key = await keyOf(users.carol)
    expect((await ssh(key)).code).toBe(0)
    const [{ id }] = (await ask(users.carol, 'GET', '/user/keys')).filter(
      ({ title }: { title: string }) => title === key,
    )
    await ask(users.carol, 'DELETE', `/user/keys/${id}`)
    expect((await ssh(key)).stderr).toContain('Permission denied')
  })

  it.each([
    ['ls', 127, 'unknown command: ls'],
    ["git-upload-archive 'bob/none'", 1, 'Repository not found.'],
    ['git-upload-archive-x a/b', 127, 'unknown command: git-upload-archive-x'],
    ['git-upload-pack', 1, 'invalid repository path'],
    ["git-upload-pack 'bob/../secret'", 1, 'invalid repository path'],
    ["git-upload-pack '../a'", 1, 'invalid repository path'],
    ["git-upload-pack 'bob/..'", 1, 'invalid repository path'],
    ["git-upload-pack 'bob/...git'", 1, 'invalid repository path'],
    ["git-upload-pack 'bob/a' ", 1, 'invalid repository path'],
    ["git-upload-pack 'bob'", 1, 'invalid repository path'],
    ["git-upload-pack 'bob/a' extra", 1, 'unknown command: git-upload-pack'],
    ["git receive-pack 'bob/a' extra", 1, 'unknown command: git receive-pack'],
    ['git-upload-pack bob/a; touch /tmp/x', 1, 'unknown command: git-upload-pack'],
    ['git-upload-pack $(id)/a', 1, 'unknown command: git-upload-pack'],
    ["git-lfs-authenticate 'bob/a'", 1, 'unknown command: git-lfs-authenticate'],
    ["git-lfs-authenticate 'bob/a' look", 1, 'unknown command: git-lfs-authenticate'],
    ["git-lfs-transfer 'bob/a'", 1, 'unknown command: git-lfs-transfer'],
    [`git-upload-pack 'bob/${'a'.repeat(10_000)}'`, 1, 'invalid repository path'],
    ["git upload-pack 'bob/none'", 1, 'Repository not found.'],
  ])('answers %j with %i', async (command, code, text) => {
    anyKey ??= await keyOf(users.carol)
    expect(await ssh(anyKey, command)).toEqual({
      code,
      stdout: '',
      stderr: `Branchline: ${text}\n`,
    })
  })

  it('logs sessions, and connections that do not authenticate', async () => {
    await create('logged')
    const key = await keyOf(users.bob)
    await git(key, '.', 'ls-remote', urlOf('bob/logged'))
    await ssh(key, 'ls')
    await expect.poll(() => server.logged.findLast((line) => line.exit === 127)).toBeDefined()
    const fetched = server.logged.findLast((line) => line.repository === 'bob/logged')
    expect(fetched).toMatchObject({
      level: 'debug',
      ssh: 'git-upload-pack',
      client: expect.stringMatching(/^OpenSSH/),
      kex: expect.any(String),
      cipher: expect.any(String),
      fingerprint: expect.stringMatching(/^SHA256:/),
      user: expect.any(Number),
      bytes_in: expect.any(Number),
      exit: 0,
      request_id: expect.any(String),
    })
    expect(fetched?.bytes_out).toBeGreaterThan(100)
    expect(server.logged.findLast((line) => line.exit === 127)).toMatchObject({ level: 'info' })
    for (let count = 0; count < 25; count += 1) {
      const socket = connect(port, '127.0.0.1', () => socket.end('SSH-2.0-Scanner\x07\r\n'))
      socket.on('error', () => {}).resume()
      await new Promise((resolve) => socket.once('close', resolve))
    }
    const failures = () => server.logged.filter((line) => line.client === 'Scanner')
    await expect.poll(() => failures().length).toBeGreaterThan(0)
    expect(failures()[0]).toMatchObject({
      level: 'info',
      peer: '127.0.0.1',
      msg: 'an SSH connection did not authenticate',
    })
    // Ten a minute, and a minute may end in between.
    expect(failures().length).toBeLessThanOrEqual(20)
  })

  it('refuses everything but Git', async () => {
    const key = await keyOf(users.bob)
    const options = [...sshOptions(client.home, key), '-p', String(port)]
    expect((await runSsh([...options, '-s', 'git@127.0.0.1', 'sftp'])).code).not.toBe(0)
    const forward = await runSsh([...options, '-W', '127.0.0.1:1', 'git@127.0.0.1'])
    expect(forward.stderr).toContain('stdio forwarding failed')
  })

  it('offers the algorithms of the documents only', async () => {
    const key = await keyOf(users.bob)
    const options = [...sshOptions(client.home, key, 'DEBUG2'), '-p', String(port)]
    const { stderr } = await runSsh([...options, 'git@127.0.0.1'])
    expect(stderr).toContain(
      'server-sig-algs=<ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256,sk-ssh-ed25519@openssh.com,sk-ecdsa-sha2-nistp256@openssh.com>',
    )
    expect(stderr).toContain('remote software version Branchline')
    expect(stderr).toContain('mlkem768x25519-sha256,curve25519-sha256')
    for (const weak of [
      'Ciphers=aes128-cbc',
      'KexAlgorithms=diffie-hellman-group14-sha1',
      'HostKeyAlgorithms=ssh-rsa',
    ]) {
      const { stderr: refusal } = await runSsh(['-o', weak, ...options, 'git@127.0.0.1'])
      expect(refusal).toContain('no matching')
    }
  })

  it('survives what is no SSH, and does not stop for it', async () => {
    for (const bytes of [
      'GET / HTTP/1.1\r\n\r\n',
      'SSH-1.0-x\r\n',
      `SSH-2.0-${'x'.repeat(9000)}\r\n`,
      'SSH-2.0-x\r\n\xff\xff\xff\xff',
    ]) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(bytes, 'latin1')
      socket.resume()
      await new Promise((resolve) => socket.once('close', resolve))
    }
    const key = await keyOf(users.bob)
    expect((await ssh(key)).code).toBe(0)
  })

  it('takes the same commands from many clients at once', async () => {
    await create('crowded')
    const key = await keyOf(users.bob)
    const lists = Array.from({ length: 12 }, () => git(key, '.', 'ls-remote', urlOf('bob/crowded')))
    expect(new Set(await Promise.all(lists)).size).toBe(1)
  })
})
