import { join } from 'node:path'
import { type GitClient, openGitClient, remoteOf } from './git-client.ts'
import { importHistory } from './histories.ts'
import { execFileSync } from './programs.ts'
import { type Actor, PASSWORD } from './server.ts'

/** Of a submodule, whose commit is in no repository here. */
export const SUBMODULE_ID = '1234567890123456789012345678901234567890'

/** Of a commit; nobody made it by any key. */
export const SIGNATURE = '-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----'

const BOB = 'Bob <BOB@example.org>'

/** Bob's clone of the sample, and the ids of its commits by their messages. */
export interface Sample extends GitClient {
  readonly ids: Readonly<Record<string, string>>
}

/**
 * Makes `bob/{name}` with a history that bob pushes: `main` has first, second, third and odds, and
 * `feature/x` has strange behind third. `v1` is an annotated tag of second, `light` another name of
 * first, `signed` the branch of a signed commit behind odds.
 */
export async function pushSample(
  url: string,
  bob: Actor,
  name: string,
  settings: object = {},
): Promise<Sample> {
  const response = await fetch(`${url}/api/v1/user/repos`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: bob.authorization },
    body: JSON.stringify({ name, ...settings }),
  })
  if (response.status !== 201) throw new Error(`no repository: ${await response.text()}`)
  const client = await openGitClient()
  const folder = join(client.home, name)
  await client.git('.', 'init', '-q', '-b', 'main', name)
  const gitmodules =
    '[submodule "m"]\n\tpath = vendor/module\n\turl = "https://example.org/m.git"\n'
  importHistory(folder, [
    {
      author: BOB,
      message: 'first',
      files: { 'README.md': 'one\n', 'docs/run.sh': { mode: '100755', content: '#!\n' } },
    },
    { author: BOB, message: 'second', files: { 'docs/guide/start.md': 'start\n' } },
    { author: BOB, message: 'third', files: { 'README.md': 'one\ntwo\ndrei\n' } },
    {
      on: 'refs/heads/feature/x',
      parents: ['refs/heads/main'],
      author: 'Stranger <stranger@elsewhere.example>',
      message: 'strange',
      files: { strange: 's\n' },
    },
    {
      author: BOB,
      message: 'odds',
      files: {
        'picture.png': Buffer.from([0, 1, 2, 255]),
        link: { mode: '120000', content: 'README.md' },
        'vendor/module': { mode: '160000', id: SUBMODULE_ID },
        '.gitmodules': gitmodules,
        'bytes\xff': 'b\n',
        'sp ace #?%/ü.html': '<script>alert(1)</script>\n',
      },
    },
  ])
  await client.git(name, 'tag', '-a', 'v1', '-m', 'version 1', 'main~2')
  await client.git(name, 'tag', 'light', 'main~3')
  await client.git(
    name,
    'update-ref',
    'refs/heads/signed',
    signCommit(folder, await client.git(name, 'rev-parse', 'main')),
  )
  const remote = remoteOf(url, `bob/${name}`, 'bob', PASSWORD)
  await client.git(name, 'push', '-q', remote, 'refs/heads/*', 'refs/tags/*')
  const log = await client.git(name, 'log', '--all', '--format=%s %H')
  return { ...client, ids: Object.fromEntries(log.split('\n').map((line) => line.split(' '))) }
}

/** Stores a commit that carries a signature. */
function signCommit(folder: string, parent: string): string {
  const tree = execFileSync('git', ['-C', folder, 'rev-parse', `${parent}^{tree}`], {
    encoding: 'utf8',
  }).trim()
  const person = 'Bob <bob@example.org> 1770000100 +0100'
  const input = `tree ${tree}\nparent ${parent}\nauthor ${person}\ncommitter ${person}\ngpgsig ${SIGNATURE.replaceAll('\n', '\n ')}\n\nsigned\n`
  return execFileSync('git', ['-C', folder, 'hash-object', '-t', 'commit', '-w', '--stdin'], {
    input,
    encoding: 'utf8',
  }).trim()
}
