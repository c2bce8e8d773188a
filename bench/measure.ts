import { awake, type LoadClient, type LoadOptions, type LoadResult } from './load.ts'
import type { ServerProcess } from './processes.ts'
import type { Answer, Request } from './requests.ts'
import { sized } from './sizes.ts'

/** One measured kind of request. */
export interface Case {
  readonly name: string
  readonly server: ServerProcess
  readonly client: LoadClient
  readonly requests: readonly Request[]
  /** Name of the case of the same group to compare with. */
  readonly baseline?: string
  /** Throws unless the response to the first request is right. */
  check(answer: Answer): void
}

/** How often and how long each case of a group is measured. */
interface Load extends LoadOptions {
  readonly rounds: number
}

/** Cases that alternate, so that other load on the machine affects all of them alike. */
export interface Group extends Load {
  /** Selects the group on the command line. */
  readonly name: string
  readonly title: string
  readonly cases: readonly Case[]
}

/** The medians of the rounds of a case. */
export interface CaseResult {
  readonly name: string
  readonly requestsPerSecond: number
  readonly baseline: string | undefined
  /** Requests per second divided by those of the baseline, in the same round. */
  readonly ratio: number | undefined
  /** CPU time of the server and of its processes. */
  readonly cpuMicrosPerRequest: number | undefined
  /** CPU time of the baseline divided by the one of the case, in the same round. */
  readonly cpuRatio: number | undefined
  readonly p50Ms: number
  readonly p99Ms: number
  /** Memory of the server right after the last round. */
  readonly residentBytes: number | undefined
}

/** Sends the first request of each case and checks the response. */
export async function checkAnswers(group: Group): Promise<void> {
  for (const { name, server, client, requests, check } of group.cases) {
    const [first] = requests
    if (first === undefined) throw new Error(`${name} has no requests`)
    const answer = await client.ask(server.url, first)
    try {
      check(answer)
    } catch (cause) {
      throw new Error(
        `${name} is answered wrongly: ${answer.status} ${answer.body.toString('latin1')}`,
        { cause },
      )
    }
  }
}

interface Round {
  readonly requestsPerSecond: number
  readonly cpuMicrosPerRequest: number | undefined
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Measures the cases of a group alternately, after a warm-up round. */
export async function measureGroup(group: Group): Promise<CaseResult[]> {
  const load = sized<Load>(group, { rounds: 1, durationMs: 0, inFlight: 1 })
  const rounds = new Map<string, Round[]>(group.cases.map(({ name }) => [name, []]))
  const residentBytes = new Map<string, number | undefined>()
  for (let i = 0; i <= load.rounds; i++) {
    for (const measured of group.cases) {
      const round = await measureRound(measured, load)
      if (i > 0) rounds.get(measured.name)?.push(round)
      residentBytes.set(measured.name, measured.server.residentBytes())
    }
  }
  return group.cases.map(({ name, baseline }) => {
    const own = rounds.get(name) ?? []
    const compared = baseline === undefined ? undefined : rounds.get(baseline)
    const cpu = own.flatMap(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest ?? [])
    const cpuRatios = own.flatMap(({ cpuMicrosPerRequest }, i) => {
      const ofBaseline = compared?.[i]?.cpuMicrosPerRequest
      return cpuMicrosPerRequest && ofBaseline ? ofBaseline / cpuMicrosPerRequest : []
    })
    return {
      name,
      baseline,
      requestsPerSecond: median(own.map((round) => round.requestsPerSecond)),
      ratio:
        compared &&
        median(
          own.map((round, i) => round.requestsPerSecond / (compared[i]?.requestsPerSecond ?? 0)),
        ),
      cpuMicrosPerRequest: cpu.length === 0 ? undefined : median(cpu),
      cpuRatio: cpuRatios.length === 0 ? undefined : median(cpuRatios),
      p50Ms: median(own.map((round) => round.p50Ms)),
      p99Ms: median(own.map((round) => round.p99Ms)),
      residentBytes: residentBytes.get(name),
    }
  })
}

async function measureRound({ server, client, requests }: Case, options: Load): Promise<Round> {
  const cpuBeforeMs = server.cpuMs()
  const load = await awake(() => client.load(server.url, requests, options))
  const cpuAfterMs = server.cpuMs()
  return {
    ...summarize(load),
    cpuMicrosPerRequest:
      cpuBeforeMs === undefined || cpuAfterMs === undefined
        ? undefined
        : ((cpuAfterMs - cpuBeforeMs) * 1000) / load.answered,
  }
}

function summarize({ answered, elapsedMs, latenciesMs }: LoadResult) {
  const sorted = Float64Array.from(latenciesMs).sort()
  return {
    requestsPerSecond: (answered * 1000) / elapsedMs,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  }
}

/** Returns the median of some values. */
export function median(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.5)
}

/** Returns the nearest rank: the smallest value that is not below a part of all values. */
export function quantile(sorted: Float64Array, part: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}
