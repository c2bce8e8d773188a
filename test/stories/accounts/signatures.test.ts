import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { createMessage, generateKey, type PrivateKey, sign } from 'openpgp'
import { beforeAll, describe, expect, it } from 'vitest'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { GitObjectService } from '#gen/branchline/v1/git_object_service_pb.ts'
import type { Caller } from '../../../src/forge/core/access.ts'
import { verifyObjects } from '../../../src/forge/repositories/commits/commit-verification.ts'
import { readCommits } from '../../../src/platform/git/history/history.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { execFileSync } from '../../support/programs.ts'
import { countQueries } from '../../support/query-plan.ts'
import { type Actor, PASSWORD, transportTo } from '../../support/server.ts'
import { newSshSigner } from '../../support/ssh-signing.ts'

const NOW = Math.floor(Date.now() / 1000)
const HOUR = 60 * 60

const bobs = newSshSigner('ssh-ed25519')
const deploy = newSshSigner('ssh-ed25519')
const strange = newSshSigner('ssh-ed25519')
let openPgp: PrivateKey

const { server, users, rest, client } = await openForge()
beforeAll(async () => {
  await rest(users.bob, 'POST', '/user/repos', { name: 'engine' })
  await client.git('.', 'init', '-q', '-b', 'main', 'engine')
  await addSshKey(users.bob, bobs.line)
  await rest(users.bob, 'POST', '/repos/bob/engine/keys', { title: 'deploy', key: deploy.line })
  openPgp = await newOpenPgpKey('bob@example.org')
  await addOpenPgpKey(users.bob, openPgp)
})

/**
 * Adds a key.
 *
 * @returns the path of the key.
 */
async function addSshKey(who: Actor, key: string): Promise<string> {
  const { status, body } = await rest(who, 'POST', '/user/keys', { title: key.slice(-20), key })
  expect(status).toBe(201)
  return `/user/keys/${body.id}`
}

async function addOpenPgpKey(who: Actor, key: PrivateKey): Promise<string> {
  const { status, body } = await rest(who, 'POST', '/user/gpg_keys', {
    armored_public_key: key.toPublic().armor(),
  })
  expect(status).toBe(201)
  return `/user/gpg_keys/${body.id}`
}

async function newOpenPgpKey(...emails: string[]): Promise<PrivateKey> {
  const userIDs = emails.map((email) => ({ name: 'Somebody', email }))
  const date = new Date((NOW - 24 * HOUR) * 1000)
  const { privateKey } = await generateKey({
    userIDs,
    subkeys: [{ sign: true }],
    date,
    format: 'object',
  })
  return privateKey
}

function signer(key: PrivateKey, time = NOW - HOUR) {
  return async (payload: Buffer) => {
    const message = await createMessage({ binary: payload })
    return (await sign({
      message,
      signingKeys: key,
      detached: true,
      date: new Date(time * 1000),
    })) as string
  }
}

interface Draft {
  readonly committer?: string
  readonly message?: Buffer | string
  readonly headers?: string
  /** Signs the payload; undefined for an unsigned commit. */
  readonly sign?: (payload: Buffer) => string | Promise<string>
  /** Stored instead of the signed payload. */
  readonly instead?: string
}

/** Stores a commit in bob's clone, puts it on a branch and returns its id. */
async function commit(branch: string, draft: Draft, parent?: string): Promise<string> {
  const { committer = 'Bob <bob@example.org>', headers = '', instead } = draft
  const tree = execFileSync('git', ['-C', join(client.home, 'engine'), 'mktree'], {
    input: '',
    encoding: 'utf8',
  }).trim()
  const lines = [
    `tree ${tree}`,
    ...(parent === undefined ? [] : [`parent ${parent}`]),
    `author Somebody <somebody@example.net> ${NOW} +0000`,
    `committer ${committer} ${NOW} +0000`,
  ].join('\n')
  const message = Buffer.from(draft.message ?? `${branch}\n`)
  const payload = Buffer.concat([Buffer.from(`${lines}\n${headers}\n`), message])
  const signature = draft.sign && (await draft.sign(payload)).trim().replaceAll('\n', '\n ')
  const header = signature === undefined ? '' : `gpgsig ${signature}\n`
  const stored = Buffer.from(instead ?? message)
  const input = Buffer.concat([Buffer.from(`${lines}\n${headers}${header}\n`), stored])
  const options = ['hash-object', '-t', 'commit', '-w', '--stdin']
  const id = execFileSync('git', ['-C', join(client.home, 'engine'), ...options], {
    input,
    encoding: 'utf8',
  }).trim()
  await client.git('engine', 'update-ref', `refs/heads/${branch}`, id)
  return id
}

function push(...refs: string[]): Promise<string> {
  return client.git(
    'engine',
    'push',
    '-q',
    remoteOf(server.url, 'bob/engine', 'bob', PASSWORD),
    ...refs,
  )
}

/** Returns the verification of a pushed commit as a user sees it. */
async function verificationOf(id: string, who: Actor | undefined = users.bob) {
  const { status, body } = await rest(who, 'GET', `/repos/bob/engine/git/commits/${id}`)
  expect(status).toBe(200)
  return body.commit.verification
}

const byBob = (payload: Buffer) => bobs.sign(payload)
const ANYBODY: Caller = { kind: 'anonymous', peer: { address: '127.0.0.1', loopback: true } }

const BOBS_FINGERPRINT = /^SHA256:[\w+/]{43}$/

describe('a signed commit', () => {
  it('is verified by every method that returns it, with its signer', async () => {
    const id = await commit('main', { sign: byBob })
    await push('main')
    const { verified, reason, signer, signature, payload } = await verificationOf(id)
    expect([verified, signer]).toEqual([
      true,
      { name: 'bob', email: 'bob@example.org', username: 'bob' },
    ])
    expect(reason).toMatch(/^bob \/ SHA256:[\w+/]{43}$/)
    expect(reason.split(' / ')[1]).toMatch(BOBS_FINGERPRINT)
    expect(signature).toMatch(/^-----BEGIN SSH SIGNATURE-----\n/)
    expect(payload).toMatch(/^tree .*\nauthor .*\ncommitter .*\n\nmain\n$/)
    const told = { verified, reason, signer, signature, payload }
    expect(
      (await rest(undefined, 'GET', '/repos/bob/engine/commits?sha=main')).body[0].commit
        .verification,
    ).toEqual(told)
    expect(
      (await rest(users.carol, 'GET', '/repos/bob/engine/branches/main')).body.commit.verification,
    ).toEqual(told)
    const transport = transportTo(server.url, 'gRPC')
    const name = { owner: 'bob', repo: 'engine' }
    const { commit: shown } = await createClient(CommitService, transport).getCommit({
      ...name,
      sha: id,
    })
    expect(shown?.verification).toMatchObject(told)
    const branch = await createClient(BranchService, transport).getBranch({
      ...name,
      branch: 'main',
    })
    expect(branch.commit?.verification).toMatchObject(told)
  })

  const cases: [name: string, draft: Draft, verified: boolean, reason: RegExp][] = [
    ['not signed', {}, false, /^gpg\.error\.not_signed_commit$/],
    [
      'signed by the account of the address without mail',
      { committer: 'Bob <2+whoever@noreply.127.0.0.1>', sign: byBob },
      true,
      /^bob \/ SHA256:/,
    ],
    [
      'signed in another case of the address',
      { committer: 'B <BOB@Example.org>', sign: byBob },
      true,
      /^bob \//,
    ],
    [
      'signed in another encoding',
      {
        headers: 'encoding ISO-8859-1\n',
        message: Buffer.from('gr\xfcn\n', 'latin1'),
        sign: byBob,
      },
      true,
      /^bob \//,
    ],
    [
      'signed by a subkey of OpenPGP',
      { sign: (payload) => signer(openPgp)(payload) },
      true,
      /^bob \/ [0-9A-F]{16}$/,
    ],
    [
      'another one than was signed',
      { sign: byBob, instead: 'other\n' },
      false,
      /^gpg\.error\.probable_bad_signature$/,
    ],
    [
      'another one than was signed with OpenPGP',
      { sign: (payload) => signer(openPgp)(payload), instead: 'other\n' },
      false,
      /^gpg\.error\.probable_bad_signature$/,
    ],
    [
      'signed for another purpose',
      { sign: (payload) => bobs.sign(payload, { namespace: 'file' }) },
      false,
      /^gpg\.error\.probable_bad_signature$/,
    ],
    [
      'signed in an hour',
      { sign: (payload) => signer(openPgp, NOW + HOUR)(payload) },
      false,
      /^gpg\.error\.probable_bad_signature$/,
    ],
    [
      'signed by a clock that runs ahead',
      { sign: (payload) => signer(openPgp, NOW + 60)(payload) },
      true,
      /^bob \//,
    ],
    [
      'signed by nothing that can be read',
      { sign: () => 'hello' },
      false,
      /^gpg\.error\.extract_sign$/,
    ],
    [
      'signed twice',
      { sign: byBob, headers: 'gpgsig -----BEGIN SSH SIGNATURE-----\n' },
      false,
      /^gpg\.error\.extract_sign$/,
    ],
    [
      'that of nobody here',
      { committer: 'Bob <bob@elsewhere.example>', sign: byBob },
      false,
      /^gpg\.error\.no_committer_account$/,
    ],
    [
      "that of somebody else than the key's",
      { committer: 'Carol <carol@example.org>', sign: byBob },
      false,
      /^gpg\.error\.no_gpg_keys_found$/,
    ],
    [
      "that of somebody else than the key of OpenPGP's",
      { committer: 'Carol <carol@example.org>', sign: (payload) => signer(openPgp)(payload) },
      false,
      /^gpg\.error\.no_gpg_keys_found$/,
    ],
    [
      'signed by a key of nobody',
      { sign: (payload) => strange.sign(payload) },
      false,
      /^gpg\.error\.no_gpg_keys_found$/,
    ],
    [
      'signed by a key of a repository',
      { sign: (payload) => deploy.sign(payload) },
      false,
      /^gpg\.error\.no_gpg_keys_found$/,
    ],
  ]
  const idsByName = new Map<string, string>()
  beforeAll(async () => {
    for (const [name, draft] of cases)
      idsByName.set(name, await commit(name.replace(/\W+/g, '-'), draft))
    await push('--all')
  })

  it.each(cases)('has a reason when it is %s', async (name, _, verified, reason) => {
    const told = await verificationOf(idsByName.get(name) ?? '')
    expect(told).toMatchObject({ verified, reason: expect.stringMatching(reason) })
    expect(told.signer === null).toBe(!verified)
  })

  it('is verified as long as the account has the key', async () => {
    const key = newSshSigner('ecdsa-sha2-nistp256')
    const other = await newOpenPgpKey('bob@example.org')
    const ids = [
      await commit('by-ssh', { sign: (payload) => key.sign(payload) }),
      await commit('by-openpgp', { sign: signer(other) }),
    ]
    await push('by-ssh', 'by-openpgp')
    const all = async () => Promise.all(ids.map(async (id) => (await verificationOf(id)).verified))
    expect(await all()).toEqual([false, false])
    const paths = [await addSshKey(users.bob, key.line), await addOpenPgpKey(users.bob, other)]
    expect(await all()).toEqual([true, true])
    for (const path of paths) expect((await rest(users.bob, 'DELETE', path)).status).toBe(204)
    expect(await all()).toEqual([false, false])
    await addSshKey(users.carol, key.line)
    expect((await verificationOf(ids[0] ?? '')).reason).toBe('gpg.error.no_gpg_keys_found')
  })

  it('is verified by an OpenPGP key with the address of the account, or by a verified key', async () => {
    const id = await commit('renamed', {
      committer: 'Bob <2+bob@noreply.127.0.0.1>',
      sign: signer(openPgp),
    })
    await push('renamed')
    expect((await verificationOf(id)).verified).toBe(true)
    const { db } = server.app
    const write = (email: string) =>
      db
        .updateTable('users')
        .set({ email, email_key: email })
        .where('username', '=', 'bob')
        .execute()
    const proven = (verified: number) => db.updateTable('gpg_keys').set({ verified }).execute()
    await write('robert@example.org')
    expect((await verificationOf(id)).reason).toBe('gpg.error.no_gpg_keys_found')
    await proven(1)
    expect((await verificationOf(id)).verified).toBe(true)
    await proven(0)
    await write('bob@example.org')
  })

  it('is not verified by an address that a token has set', async () => {
    const id = await commit('by-token', { sign: byBob })
    await push('by-token')
    const write = (email_by_token: number) =>
      server.app.db
        .updateTable('users')
        .set({ email_by_token })
        .where('username', '=', 'bob')
        .execute()
    await write(1)
    expect((await verificationOf(id)).reason).toBe('gpg.error.no_committer_account')
    await write(0)
  })

  it('names an account only to callers who may see it', async () => {
    const ids = [
      await commit('seen', { sign: byBob }),
      await commit('unseen', { sign: byBob, instead: 'other\n' }),
      await commit('unknown', { sign: (payload) => strange.sign(payload) }),
    ]
    await push('seen', 'unseen', 'unknown')
    const see = (visibility: 'public' | 'limited') =>
      server.app.db.updateTable('users').set({ visibility }).where('username', '=', 'bob').execute()
    await rest(users.bob, 'POST', '/orgs', { username: 'acme' })
    await rest(users.bob, 'POST', '/repos/bob/engine/transfer', { new_owner: 'acme' })
    await see('limited')
    const told = async (who: Actor | undefined) => {
      const answers = await Promise.all(
        ids.map((id) => rest(who, 'GET', `/repos/acme/engine/git/commits/${id}`)),
      )
      return answers.map(({ body }) => body.commit.verification)
    }
    const [seen, ...others] = await told(undefined)
    expect(seen).toMatchObject({
      verified: true,
      reason: expect.stringMatching(/^Bob \/ SHA256:/),
      signer: null,
    })
    expect(others.map(({ reason }) => reason)).toEqual(
      Array(2).fill('gpg.error.no_committer_account'),
    )
    const [known] = await told(users.carol)
    expect(known).toMatchObject({
      reason: expect.stringMatching(/^bob \//),
      signer: { username: 'bob' },
    })
    await see('public')
    await rest(users.bob, 'POST', '/repos/acme/engine/transfer', { new_owner: 'bob' })
  })

  it('takes the same number of queries for a page of commits', async () => {
    const { body } = await rest(users.bob, 'GET', '/repos/bob/engine')
    const ids = [await commit('many', { sign: byBob })]
    for (let turn = 0; turn < 9; turn++) {
      ids.push(await commit('many', { sign: turn % 2 ? byBob : signer(openPgp) }, ids.at(-1)))
    }
    await push('many')
    const commits = [...(await readCommits(server.app.git, body.id, ids)).values()]
    const queriesFor = (objects: typeof commits) =>
      countQueries(server.app.db, (db) => verifyObjects({ ...server.app, db }, ANYBODY, objects))
    const two = await queriesFor(commits.slice(0, 2))
    expect(two).toBeGreaterThan(2)
    expect(commits).toHaveLength(10)
    expect(await queriesFor(commits)).toBe(two)
    expect(await queriesFor([])).toBe(0)
  })
})

describe('a signed tag', () => {
  it('is verified by the account of its tagger', async () => {
    const target = await commit('tagged', {})
    const payload = (tagger: string) =>
      `object ${target}\ntype commit\ntag v1\ntagger ${tagger} ${NOW} +0000\n\none\n`
    const store = (input: string) =>
      execFileSync(
        'git',
        ['-C', join(client.home, 'engine'), 'hash-object', '-t', 'tag', '-w', '--stdin'],
        {
          input,
          encoding: 'utf8',
        },
      ).trim()
    const [own, foreign] = ['Bob <bob@example.org>', 'Carol <carol@example.org>'].map(payload)
    const ids = [
      store(`${own}${bobs.sign(own ?? '')}`),
      store(`${own}${await signer(openPgp)(Buffer.from(own ?? ''))}`),
      store(`${foreign}${bobs.sign(foreign ?? '')}`),
    ]
    for (const [index, id] of ids.entries())
      await client.git('engine', 'update-ref', `refs/tags/v${index}`, id)
    await push('--tags')
    const told = await Promise.all(
      ids.map((id) => rest(undefined, 'GET', `/repos/bob/engine/git/tags/${id}`)),
    )
    expect(told.map(({ body }) => [body.message, body.verification.verified])).toEqual([
      ['one\n', true],
      ['one\n', true],
      ['one\n', false],
    ])
    const rpc = createClient(GitObjectService, transportTo(server.url, 'gRPC'))
    const tag = await rpc.getAnnotatedTag({ owner: 'bob', repo: 'engine', sha: ids[0] ?? '' })
    expect(tag.verification).toMatchObject({
      verified: true,
      signer: { username: 'bob' },
      payload: own,
    })
  })
})

describe('a branch that requires signed commits', () => {
  it('accepts those of active accounts', async () => {
    await rest(users.bob, 'POST', '/repos/bob/engine/branch_protections', {
      rule_name: 'kept',
      enable_push: true,
      require_signed_commits: true,
    })
    const first = await commit('kept', { sign: byBob })
    const unsigned = await commit('kept', {}, first)
    await commit('kept', { sign: signer(openPgp) }, unsigned)
    await expect(push('kept')).rejects.toThrow(
      `branch kept is protected from unverified commit ${unsigned}`,
    )
    await commit('kept', { sign: signer(openPgp) }, first)
    await push('kept')
    const carols = newSshSigner('ssh-ed25519')
    await addSshKey(users.carol, carols.line)
    const draft = {
      committer: 'Carol <carol@example.org>',
      sign: (payload: Buffer) => carols.sign(payload),
    }
    const hers = await commit('kept', draft, await client.git('engine', 'rev-parse', 'kept'))
    const archive = (state: 'ARCHIVED' | 'NORMAL') =>
      server.app.db.updateTable('users').set({ state }).where('username', '=', 'carol').execute()
    await archive('ARCHIVED')
    await expect(push('kept')).rejects.toThrow(
      `branch kept is protected from unverified commit ${hers}`,
    )
    await push('kept:other')
    expect((await verificationOf(hers)).verified).toBe(true)
    await archive('NORMAL')
    await push('kept')
  })
})

function isHere(program: string): boolean {
  try {
    execFileSync(program, ['--version'])
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
  return true
}

describe.skipIf(!isHere('ssh-keygen'))('git with a key of SSH (skipped without ssh-keygen)', () => {
  it.each([['ed25519'], ['ecdsa']])(
    'of the type %s signs commits and tags that are verified',
    async (type) => {
      const file = join(client.home, type)
      execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'bob@work', '-f', file])
      const key = execFileSync('cat', [`${file}.pub`], { encoding: 'utf8' })
      const path = await addSshKey(users.bob, key.trim())
      const git = (...args: string[]) =>
        client.git('engine', '-c', 'gpg.format=ssh', '-c', `user.signingKey=${file}`, ...args)
      await git('checkout', '-q', '--orphan', `git-${type}`)
      await git('commit', '-q', '--allow-empty', '-S', '-m', 'signed by git')
      await git('tag', '-s', '-m', 'signed by git', `tag-${type}`)
      await push(`git-${type}`, `tag-${type}`)
      const id = await client.git('engine', 'rev-parse', 'HEAD')
      expect(await verificationOf(id)).toMatchObject({
        verified: true,
        signer: { username: 'bob' },
      })
      const tag = await client.git('engine', 'rev-parse', `tag-${type}`)
      const { body } = await rest(undefined, 'GET', `/repos/bob/engine/git/tags/${tag}`)
      expect(body.verification).toMatchObject({ verified: true, signer: { username: 'bob' } })
      await rest(users.bob, 'DELETE', path)
      expect(await verificationOf(id)).toMatchObject({ verified: false, signer: null })
    },
  )
})

describe.skipIf(!isHere('gpg'))('git with a key of GnuPG (skipped without gpg)', () => {
  it('signs commits and tags that are verified, before and after the key gets a new expiry', async () => {
    const home = join(client.home, 'gnupg')
    const env = { PATH: process.env.PATH ?? '', HOME: client.home, GNUPGHOME: home }
    execFileSync('mkdir', ['-m', '700', home])
    const gpg = (...args: string[]) =>
      execFileSync(
        'gpg',
        ['--batch', '--quiet', '--passphrase', '', '--pinentry-mode', 'loopback', ...args],
        {
          env,
          encoding: 'utf8',
        },
      )
    const program = join(client.home, 'gpg-at-home')
    writeFileSync(
      program,
      `#!/bin/sh\nGNUPGHOME='${home}' exec gpg --batch --passphrase '' --pinentry-mode loopback "$@"\n`,
      {
        mode: 0o755,
      },
    )
    try {
      gpg('--quick-gen-key', 'Bob <bob@example.org>', 'ed25519', 'sign,cert', '1y')
      const fingerprint =
        /^fpr:*([0-9A-F]{40})/m.exec(gpg('--list-keys', '--with-colons'))?.[1] ?? ''
      const add = async () => {
        const armored_public_key = gpg('--armor', '--export', fingerprint)
        const { status, body } = await rest(users.bob, 'POST', '/user/gpg_keys', {
          armored_public_key,
        })
        expect(status).toBe(201)
        return `/user/gpg_keys/${body.id}`
      }
      const path = await add()
      const git = (...args: string[]) =>
        client.git(
          'engine',
          '-c',
          `gpg.program=${program}`,
          '-c',
          `user.signingKey=${fingerprint}`,
          ...args,
        )
      await git('checkout', '-q', '--orphan', 'gnupg')
      await git('commit', '-q', '--allow-empty', '-S', '-m', 'signed by git')
      await git('tag', '-s', '-m', 'signed by git', 'tag-gnupg')
      await push('gnupg', 'tag-gnupg')
      const id = await client.git('engine', 'rev-parse', 'HEAD')
      const verified = {
        verified: true,
        reason: `bob / ${fingerprint.slice(-16)}`,
        signer: { username: 'bob' },
      }
      expect(await verificationOf(id)).toMatchObject(verified)
      const tag = await client.git('engine', 'rev-parse', 'tag-gnupg')
      const { body } = await rest(undefined, 'GET', `/repos/bob/engine/git/tags/${tag}`)
      expect(body.verification).toMatchObject(verified)
      await rest(users.bob, 'DELETE', path)
      expect(await verificationOf(id)).toMatchObject({
        verified: false,
        reason: 'gpg.error.no_gpg_keys_found',
      })
      gpg('--faked-system-time', `${NOW + 24 * HOUR}`, '--quick-set-expire', fingerprint, '2y')
      await add()
      expect(await verificationOf(id)).toMatchObject(verified)
    } finally {
      // GnuPG starts an agent that would keep running.
      execFileSync('gpgconf', ['--kill', 'gpg-agent'], { env })
    }
  })
})
