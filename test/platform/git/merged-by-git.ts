import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gitAt } from './fixture.ts'

/** Who merges, and when. */
export const MERGER = {
  name: 'Grace',
  email: 'grace@example.org',
  time: 1_780_000_000,
  offsetMinutes: 120,
}

/**
 * What came of a command: a commit, or files that do not go together and, of a rebase, the commit
 * that does not.
 */
export type Outcome =
  | { readonly commitId: string }
  | { readonly conflicts: readonly string[]; readonly stoppedAt?: string }

/** What `git merge --no-ff`, `git merge --squash` and `git rebase` make of two branches. */
export interface MergedByGit {
  readonly merge: Outcome
  readonly squash: Outcome
  readonly rebase: Outcome
}

/**
 * Answers a line for each command: a commit, or the one that a rebase stopped at and files, these
 * in base64.
 */
const SCRIPT = `
at() {
  rm -rf .git/rebase-merge .git/REBASE_HEAD .git/MERGE_HEAD
  git checkout -q -f --detach "$1" && git clean -q -ffdx
}
tell() {
  if [ "$1" = 0 ]; then git rev-parse HEAD
  else echo "conflict $(cat .git/REBASE_HEAD) $(git ls-files -u -z | base64 -w0)"; fi
}
while read -r base head; do
  at "$base"; git merge -q --no-ff -m merged "$head" >&2; tell $?
  at "$base"; git merge -q --squash "$head" >&2 && git commit -q --allow-empty -m squashed >&2; tell $?
  at "$head"; git rebase -q "$base" >&2; tell $?
done
`

/**
 * Merges and rebases pairs of branches with git, in work trees of clones of a repository, several
 * at once.
 *
 * @param pairs ids of commits: the base, and the head that comes to it.
 * @param workers clones.
 */
export async function mergeByGit(
  repository: string,
  pairs: readonly (readonly [base: string, head: string])[],
  workers: number,
): Promise<MergedByGit[]> {
  const parts = Array.from({ length: workers }, (_, worker) =>
    pairs.filter((_, i) => i % workers === worker),
  )
  const results = await Promise.all(parts.map((part) => mergeInClone(repository, part)))
  return pairs.flatMap((_, i) => results[i % workers]?.[Math.floor(i / workers)] ?? [])
}

async function mergeInClone(
  repository: string,
  pairs: readonly (readonly [base: string, head: string])[],
): Promise<MergedByGit[]> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-merge-'))
  try {
    gitAt(folder, 'clone', '-q', '--shared', '--no-checkout', repository, '.')
    const lines = await run(folder, pairs.map((pair) => `${pair.join(' ')}\n`).join(''))
    return pairs.map((_, i) => {
      const [merge, squash, rebase] = lines.slice(3 * i, 3 * i + 3).map(outcomeOf)
      if (!merge || !squash || !rebase) throw new Error('git did not answer')
      return { merge, squash, rebase }
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

function outcomeOf(line: string): Outcome {
  const [commitId = '', stoppedAt = '', files = ''] = line.split(' ')
  if (commitId !== 'conflict') return { commitId }
  // Mode, id, stage, tab, path: what is unmerged has a stage.
  const unmerged = Buffer.from(files, 'base64').toString().split('\0').slice(0, -1)
  const paths = unmerged.map((entry) => entry.slice(entry.indexOf('\t') + 1))
  return { conflicts: [...new Set(paths)].sort(), ...(stoppedAt !== '' && { stoppedAt }) }
}

async function run(folder: string, input: string): Promise<string[]> {
  const { name, email, time } = MERGER
  const env = {
    PATH: process.env.PATH ?? '',
    LC_ALL: 'C',
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: `${time} +0200`,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: `${time} +0200`,
  }
  const shell = spawn('sh', ['-c', SCRIPT], {
    cwd: folder,
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  shell.stdin.end(input)
  let output = ''
  for await (const text of shell.stdout.setEncoding('utf8')) output += text
  return output.trimEnd().split('\n')
}
