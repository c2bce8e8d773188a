import type { Outbound, StreamedResponse, StreamOptions } from './outbound.ts'

/** Stores of files answer with one redirect, and some with two. */
const MAX_REDIRECTS = 5

const REDIRECTS = [301, 302, 303, 307, 308]

/**
 * Opens a file by way of redirects to http and https URLs, each of which is checked as the first one is.
 *
 * @param headersFor returns the headers of the request to an address.
 * @returns the first response that is no such redirect; undefined after too many redirects.
 * @throws OutboundError when there is no response.
 */
export async function openByRedirects(
  outbound: Outbound,
  start: URL,
  headersFor: (url: URL) => Readonly<Record<string, string>>,
  options: StreamOptions,
): Promise<StreamedResponse | undefined> {
  let url = start
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const response = await outbound.open({ method: 'GET', url, headers: headersFor(url) }, options)
    const target = REDIRECTS.includes(response.status) && targetOf(response, url)
    if (!target) return response
    response.body.destroy()
    url = target
  }
  return undefined
}

function targetOf({ headers }: StreamedResponse, from: URL): URL | undefined {
  const location = headers.get('location') ?? ''
  if (location === '' || !URL.canParse(location, from.href)) return undefined
  const url = new URL(location, from.href)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
}
