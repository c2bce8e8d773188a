import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRepository, git } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import { median } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { table } from './report.ts'
import { postJson } from './requests.ts'
import { sized } from './sizes.ts'

/** A push takes a tenth of a second, most of it in the client. Rules add a few hundredths. */
const ROUNDS = sized(40, 1)

/** The number of rules of a large project. */
const RULES = sized(20, 2)

/** A branch to push to, and the rules that apply to it. */
interface Trial {
  readonly name: string
  /** Settings of the last rule, the one that applies to the branch. Undefined without rules. */
  readonly settings?: object
}

const BASELINE: Trial = { name: 'without rules' }

const TRIALS: readonly Trial[] = [
  BASELINE,
  {
    name: `under ${RULES} rules`,
    settings: { enable_push: true, enable_push_whitelist: true, push_whitelist_usernames: ['ada'] },
  },
  {
    name: `under ${RULES} rules, one of which protects files`,
    settings: { enable_push: true, protected_file_patterns: '**.lock;secrets/**' },
  },
]

/**
 * Pushes a commit to each of some branches, alternately, and prints how long the pushes took the
 * client.
 *
 * @param folder for the pushed repositories.
 */
export async function measurePushes(
  { branchline, credentials }: Servers,
  folder: string,
): Promise<string> {
  await mkdir(folder)
  await git(folder, 'init', '-q', '-b', 'main')
  await commit(folder, 'first')
  const urls = new Map<Trial, string>()
  for (const [i, trial] of TRIALS.entries()) {
    const name = `pushed-${i}`
    const url = await createRepository(branchline, credentials.personalAccessToken, name)
    await git(folder, 'push', '-q', url, 'main')
    if (trial.settings)
      await makeRules(branchline, credentials.personalAccessToken, name, trial.settings)
    urls.set(trial, url)
  }
  const rounds: ReadonlyMap<Trial, number>[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    await commit(folder, String(round))
    const elapsedMs = new Map<Trial, number>()
    for (const [trial, url] of urls) {
      const startedMs = performance.now()
      await git(folder, 'push', '-q', url, 'main')
      elapsedMs.set(trial, performance.now() - startedMs)
    }
    // The first round warms up.
    if (round > 0) rounds.push(elapsedMs)
  }
  const ratioTo = (baseline: Trial, trial: Trial) =>
    median(rounds.map((round) => (round.get(baseline) ?? 0) / (round.get(trial) ?? 0)))
  const rows = TRIALS.map((trial) => [
    trial.name,
    median(rounds.map((round) => round.get(trial) ?? 0)).toFixed(1),
    ...(trial === BASELINE ? ['', ''] : [ratioTo(BASELINE, trial).toFixed(2), BASELINE.name]),
  ])
  return table(['Push of a commit to a branch', 'ms', 'ratio', 'of'], rows)
}

async function commit(folder: string, content: string): Promise<void> {
  await writeFile(join(folder, 'work.txt'), content)
  await git(folder, 'add', '.')
  await git(folder, 'commit', '-q', '-m', 'work')
}

/** Creates rules for other branches, and after all of them one for `main`. */
async function makeRules(
  server: ServerProcess,
  token: string,
  name: string,
  settings: object,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const others = Array.from({ length: RULES - 1 }, (_, i) => ({
    rule_name: `release-${i}/{alpha,beta}-*/**`,
  }))
  for (const rule of [...others, { rule_name: 'ma{in,ster}', ...settings }]) {
    const path = `/api/v1/repos/ada/${name}/branch_protections`
    const answer = await http1.ask(server.url, postJson(path, rule, headers))
    if (answer.status !== 201)
      throw new Error(`a rule is answered ${answer.status}: ${answer.body}`)
  }
}
