import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { type GitClient, openGitClient, remoteOf } from '../support/git-client.ts'
import { type PullCast, invitePullCast, pullForge } from '../support/pull-forge.ts'
import { PASSWORD, startTestServer, type TestServer, transportTo } from '../support/server.ts'

let server: TestServer
let cast: PullCast
let forge: ReturnType<typeof pullForge>
let client: GitClient
beforeAll(async () => {
  server = await startTestServer()
  cast = await invitePullCast(server.url)
  forge = pullForge(server)
  client = await openGitClient()
})
afterAll(async () => {
  await client.remove()
  await server.stop()
})

const NAMES = ['"quoted"', 'new\nline', '-dash', ':(glob)**', 'tab\there', 'sp ace', 'pct%2f', 'ünï', 'back\\slash', '#h?q&a=b', 'a/../b'.replace('..', '...'), 'trailing ', '\u202eevil']

describe('fuzz', () => {
  it('odd history', async () => {
    await forge.repository(cast.bob, 'odd', { auto_init: false })
    const dir = join(client.home, 'odd')
    await client.git('.', 'init', '-q', '-b', 'main', 'odd')
    const g = (args: string[], input?: Buffer | string, env = {}) => execFileSync('git', args, { cwd: dir, input, env: { ...process.env, GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@x', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@x', GIT_AUTHOR_DATE: '1700000000 +0000', GIT_COMMITTER_DATE: '1700000000 +0000', ...env } }).toString().trim()
    const blob = (content: Buffer | string) => g(['hash-object', '-w', '--stdin'], content)
    const tree = (entries: [string, string, string, Buffer | string][]) => g(['mktree', '-z', '--missing'], Buffer.concat(entries.map(([mode, type, id, name]) => Buffer.concat([Buffer.from(`${mode} ${type} ${id}\t`), Buffer.from(name as any), Buffer.from([0])]))))
    const raw = (t: string, parents: string[], message: Buffer | string, extra = '', author = 'A <a@x> 1700000000 +0000') => g(['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], Buffer.concat([Buffer.from(`tree ${t}\n${parents.map((p) => `parent ${p}\n`).join('')}author ${author}\ncommitter ${author}\n${extra}\n`), Buffer.from(message as any)]))
    const base = raw(tree([['100644', 'blob', blob('one\n'.repeat(10)), 'keep'], ['100644', 'blob', blob('moved\n'.repeat(10)), 'old-name']]), [], 'base\n')
    const names: [string, string, string, Buffer | string][] = [
      ...NAMES.filter((n) => !n.includes('/')).map((n): [string, string, string, string] => ['100644', 'blob', blob(`in ${n}\n`), n]),
      ['100644', 'blob', blob('latin\n'), Buffer.from([0x66, 0xe9, 0xff])],
      ['100644', 'blob', blob('latin\n'), Buffer.from([0x66, 0xe9, 0xfe])],
      ['100644', 'blob', blob('moved\n'.repeat(10)), 'new-name'],
      ['100644', 'blob', blob(Buffer.alloc(1000, 0)), 'binary'],
      ['100644', 'blob', blob('x'.repeat(3_000_000)), 'one-line'],
      ['120000', 'blob', blob('keep'), 'link'],
      ['160000', 'commit', '1'.repeat(40), 'sub'],
      ['100755', 'blob', blob('one\n'.repeat(10)), 'keep'],
    ]
    const t = tree(names)
    const c1 = raw(t, [base], 'odd names\n\ndiff --git a/x b/x\n---\n+++ b\n')
    const c2 = raw(tree([...names.slice(0, 5), ['100644', 'blob', blob('y'), 'y']]), [c1], Buffer.from('latin \xe9\xff message\n', 'latin1'), 'encoding ISO-8859-1\n')
    const c3 = raw(tree([['100644', 'blob', blob('z'), 'z']]), [c2], Buffer.from('nul\0after\n'))
    const c4 = raw(tree([['100644', 'blob', blob('zz'), 'z']]), [c3], '', '', ' <> 1700000000 +0000')
    const c5 = raw(tree([['100644', 'blob', blob('zzz'), 'z']]), [c4], 'From here\n\nFrom me to you\n>From x\n', 'encoding nonsense\n', 'Ünïcødé "x" <a@x\u202e> 99999999999999 +9999')
    g(['update-ref', 'refs/heads/main', base])
    g(['update-ref', 'refs/heads/c5', c5])
    g(['update-ref', 'refs/heads/c3', c3])
    g(['update-ref', 'refs/heads/c2', c2])
    g(['update-ref', 'refs/heads/c1', c1])
    const push = execFileSync('git', ['-C', dir, 'push', remoteOf(server.url, 'bob/odd', 'bob', PASSWORD), 'refs/heads/*'], { stdio: ['ignore', 'pipe', 'pipe'] })
    const found: string[] = []
    const grpc = createClient(PullFileService, transportTo(server.url, 'gRPC', cast.bob.authorization))
    const pulls = createClient(PullRequestService, transportTo(server.url, 'gRPC', cast.bob.authorization))
    let index = 0n
    for (const head of ['c1', 'c2', 'c3', 'c5']) {
      const made = await forge.rest(cast.bob, 'POST', '/repos/bob/odd/pulls', { title: head, head, base: 'main' })
      if (made.status !== 201) { found.push(`create ${head} ${made.status} ${JSON.stringify(made.body)}`); continue }
      index = BigInt(made.body.number)
      const at = `${server.url}/api/v1/repos/bob/odd/pulls/${index}`
      for (const tail of ['', '.diff', '.patch', '.diff?binary=true', '.patch?binary=1', '/commits', '/files', '/files?page=2147483647&limit=50', '/files?page=99999999999999999999', '/files?page=-1&limit=-5', '/files?limit=1&page=2', '/files?whitespace=ignore-all', '/files?whitespace=ignore-change', '/files?whitespace=ignore-eol', '/files?whitespace=%00', '/files?skip-to=%00', '/files?skip-to=keep', '/files?skip-to=nope', `/files?skip-to=${encodeURIComponent(':(glob)**')}`, '/files?skip-to=--', '/files?skip-to=%ff', '/files?skip-to=keep&page=3&limit=2',
        '/commits?page=2147483647&limit=50', '/commits?page=2147483648', '/commits?limit=x', '/commits?verification=false&files=false', '/commits?files=false', '/commits?page=0&limit=0', '/merge', '/reviews', '/requested_reviewers']) {
        const r = await fetch(at + tail, { headers: { authorization: cast.bob.authorization } })
        const text = await r.text()
        if (r.status >= 400 && !(tail === '/merge' && r.status === 404) ) found.push(`${head} ${tail} ${r.status} ${text.slice(0, 200)}`)
        if (tail.startsWith('/files?skip') || tail.startsWith('/files?limit')) console.log(head, tail, r.status, r.headers.get('x-page'), r.headers.get('x-pagecount'), r.headers.get('x-hasmore'), r.headers.get('link'), JSON.parse(text).map((f: any) => f.filename))
        if (tail === '.patch') {
          const work = join(client.home, `am-${head}`)
          execFileSync('git', ['worktree', 'add', '-q', '--detach', work, 'main'], { cwd: dir })
          writeFileSync(join(client.home, 'mbox'), text)
          try {
            execFileSync('git', ['am', '-q', '--keep-cr', join(client.home, 'mbox')], { cwd: work, stdio: 'pipe', env: { ...process.env, GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@x' } })
          } catch (e: any) { found.push(`am ${head} ${e.stderr}`) }
        }
      }
      const all = await (await fetch(`${at}/files?limit=50`)).json() as any[]
      console.log(head, JSON.stringify(all.map((f) => [f.filename, f.previous_filename, f.status, f.additions, f.deletions])))
      for (const f of all) {
        const r = await fetch(f.contents_url)
        if (r.status !== 200 && f.status !== 'deleted') found.push(`contents ${f.contents_url} ${r.status}`)
      }
      for (const [name, call] of Object.entries({
        files: () => grpc.listPullRequestFiles({ owner: 'bob', repo: 'odd', index, page: 2147483647, limit: 2147483647 }),
        files2: () => grpc.listPullRequestFiles({ owner: 'bob', repo: 'odd', index, page: -2147483648, limit: -2147483648, skipTo: '\0' }),
        commits: () => grpc.listPullRequestCommits({ owner: 'bob', repo: 'odd', index, page: 2147483647, limit: 2147483647 }),
        commitsall: () => grpc.listPullRequestCommits({ owner: 'bob', repo: 'odd', index }),
        commits3: () => grpc.listPullRequestCommits({ owner: 'bob', repo: 'odd', index: -1n }),
        commits4: () => grpc.listPullRequestCommits({ owner: 'bob', repo: 'odd', index: 9223372036854775807n }),
        pull: () => pulls.getPullRequest({ owner: 'bob', repo: 'odd', index: -9223372036854775808n }),
        between: () => pulls.getPullRequestByBranches({ owner: 'bob', repo: 'odd', base: 'main', head: 'c1' }),
        between2: () => pulls.getPullRequestByBranches({ owner: 'bob', repo: 'odd', base: '\0', head: '\0:\0' }),
        sha: () => grpc.getCommitPullRequest({ owner: 'bob', repo: 'odd', sha: '--all' }),
        sha2: () => grpc.getCommitPullRequest({ owner: 'bob', repo: 'odd', sha: '\0' }),
        sha3: () => grpc.getCommitPullRequest({ owner: 'bob', repo: 'odd', sha: '' }),
        sha4: () => grpc.getCommitPullRequest({ owner: 'bob', repo: 'odd', sha: 'x'.repeat(100000) }),
        diff: async () => { for await (const _ of grpc.getPullRequestDiff({ owner: 'bob', repo: 'odd', index, format: 'exe' })); },
        diff2: async () => { for await (const _ of grpc.getPullRequestDiff({ owner: 'bob', repo: 'odd', index, format: '' })); },
        list: () => pulls.listPullRequests({ owner: 'bob', repo: 'odd', page: 2147483647, limit: 2147483647, milestone: 9223372036854775807n, labels: ['9'.repeat(400)] }),
        list2: () => pulls.listPullRequests({ owner: 'bob', repo: 'odd', milestone: -9223372036854775808n, labels: ['-0', '+1'], sort: '__proto__', state: '\0' }),
        list3: () => pulls.listPullRequests({ owner: 'bob', repo: 'odd', poster: 'x'.repeat(100000) }),
        list4: () => pulls.listPullRequests({ owner: 'bob', repo: 'odd', poster: '\0', baseBranch: '\0' }),
        list5: () => pulls.listPullRequests({ owner: 'bob', repo: 'odd', labels: [''] }),
        list6: () => pulls.listPullRequests({ owner: 'bob', repo: 'odd', labels: ['1,2'] }),
      })) {
        try { await call() } catch (e) {
          const error = ConnectError.from(e)
          found.push(`grpc ${head} ${name} ${Code[error.code]} ${error.rawMessage.slice(0, 100)}`)
        }
      }
    }
    for (const path of ['?labels=1,2', '?labels=', '?labels=1&labels=x', '?labels=1&labels=2', '?milestone=x', '?milestone=-1', '?milestone=99999999999999999999', '?state=nonsense', '?sort=nonsense', '?sort=recentclose', '?sort=priority', '?poster=nobody', '?poster=BOB', '?poster=', '?poster=%00', '?page=0&limit=0', '?limit=1000', '?limit=2&page=2', '?page=2147483647', '?base_branch=main', '?base_branch=', '/abc', '/0', '/-1', '/1e3', '/99999999999999999999999', '/1.5', '/main/c1', '/main/bob:c1', '/main/bob/odd:c1', '/main/bob%2Fodd:c1', '/main/nobody:c1', '/main/ada:c1', '/main/:c1', '/main/bob/:c1', '/main//odd:c1', '/main/bob/odd/x:c1', '/main/refs/heads/c1', '/refs%2Fheads%2Fmain/c1', '/1.exe', '/1.DIFF', '/x.diff', '/99.diff', '/99.patch', '/99/files', '/99/commits', '/99/merge', '/x/files', '/%00', '/1/nonsense']) {
      const r = await fetch(`${server.url}/api/v1/repos/bob/odd/pulls${path}`, { headers: { authorization: cast.bob.authorization } })
      const text = await r.text()
      let show = text.slice(0, 150)
      if (r.status === 200) { const j = JSON.parse(text); show = Array.isArray(j) ? `[${j.map((p: any) => p.number)}]` : `#${j.number}` }
      found.push(`GET ${path} ${r.status} ${show} ${r.headers.get('link') ?? ''} total=${r.headers.get('x-total-count')}`)
    }
    for (const sha of ['main', '', '--all', '%00', base, 'HEAD', 'main..c1', ':/x', 'refs/pull/1/head']) {
      const r = await fetch(`${server.url}/api/v1/repos/bob/odd/commits/${sha}/pull`)
      found.push(`sha ${sha} ${r.status} ${(await r.text()).slice(0, 100)}`)
    }
    console.log(found.join('\n'))
    console.log(server.logged.filter((l: any) => l.level >= 40 || l.level === 'error' || l.level === 'warn').map((l) => JSON.stringify(l).slice(0, 600)).join('\n'))
  }, 120000)
})
