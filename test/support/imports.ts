import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../src/forge/app.ts'
import type { RestAnswer, SendRest } from './rest.ts'
import type { Actor } from './server.ts'

const SETTLED = ['WAITING', 'SUCCEEDED', 'FAILED', 'CANCELLED']

/** Waits until the import of a repository has one of some states, and returns the import. */
export async function settledImport(
  app: App,
  rest: SendRest,
  who: Pick<Actor, 'authorization'>,
  path: string,
  states: readonly string[] = SETTLED,
): Promise<RestAnswer['body']> {
  const { importSteps } = app.signals
  for (;;) {
    const seen = importSteps.count
    const { body } = await rest(who, 'GET', `${path}/import`)
    if (states.includes(body.state)) return body
    await importSteps.after(seen, new AbortController().signal)
  }
}

/** A response of the API of another server. */
export interface ApiAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Answers requests of an API: a function for each path, which gets the query. */
export type ApiAnswers = Readonly<
  Record<string, (query: URLSearchParams, request: IncomingMessage) => ApiAnswer>
>

/**
 * Returns a function that answers the requests to an API; false for others.
 *
 * @param base prefix of the paths, such as `/api/v1`. Unknown paths below the prefix answer 404.
 */
export function apiOf(base: string, answers: ApiAnswers) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (!url.pathname.startsWith(`${base}/`)) return false
    const answer = answers[url.pathname.slice(base.length)]
    const {
      status = 200,
      headers = {},
      body,
    } = answer?.(url.searchParams, request) ?? {
      status: 404,
      body: { message: 'not found' },
    }
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body === undefined ? '' : JSON.stringify(body))
    return true
  }
}

/** Returns a page of a list, with the headers of GitHub and GitLab. */
export function pageOf(items: readonly unknown[], query: URLSearchParams, size: number): ApiAnswer {
  const page = Number(query.get('page') ?? 1)
  const next = new URLSearchParams(query)
  next.set('page', String(page + 1))
  const hasNext = page * size < items.length
  return {
    body: items.slice((page - 1) * size, page * size),
    headers: {
      'x-total': String(items.length),
      // A path is a reference, too (RFC 8288, section 3.1).
      ...(hasNext && { link: `<?${next}>; rel="next"` }),
    },
  }
}
