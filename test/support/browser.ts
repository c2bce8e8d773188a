/** A page or a redirect that a browser got. */
export interface Visited {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** A browser without JavaScript: it keeps cookies, follows redirects and sends forms. */
export interface Browser {
  /** By name. */
  readonly cookies: Map<string, string>
  /** The latest page. */
  readonly page: Visited
  /** Opens an address, and follows redirects as long as they stay at the server. */
  open(url: string): Promise<Visited>
  /** Presses a button of the latest page. `fields` are what the user types. */
  press(action: string, fields?: Readonly<Record<string, string>>): Promise<Visited>
  /** Sends a request without following its redirect. */
  send(url: string, init?: RequestInit): Promise<Visited>
}

const MAX_REDIRECTS = 10

/** Starts a browser without cookies, for the server at a URL. */
export function openBrowser(serverUrl: string): Browser {
  const cookies = new Map<string, string>()
  let page: Visited | undefined

  const send = async (url: string, init: RequestInit = {}): Promise<Visited> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...(cookie !== '' && { cookie }), ...init.headers },
    })
    for (const set of response.headers.getSetCookie()) keep(set)
    const { status, headers } = response
    return { url, status, headers, body: await response.text() }
  }

  const keep = (setCookie: string) => {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(setCookie) ?? []
    if (/; Max-Age=0(;|$)/.test(setCookie)) cookies.delete(name)
    else cookies.set(name, value)
  }

  /** Returns the page at the end of redirects, or the first redirect that leaves the server. */
  const follow = async (first: Visited): Promise<Visited> => {
    let visited = first
    for (let i = 0; i < MAX_REDIRECTS; i++) {
      const location = visited.headers.get('location')
      if (location === null) break
      const target = new URL(location, visited.url)
      if (target.origin !== new URL(serverUrl).origin) break
      visited = await send(target.href)
    }
    page = visited
    return visited
  }

  const current = () => {
    if (!page) throw new Error('the browser has opened nothing')
    return page
  }

  return {
    cookies,
    get page() {
      return current()
    },
    send,
    open: async (url) => follow(await send(url)),
    async press(action, fields = {}) {
      const { url, body } = current()
      const form = body
        .split('<form')
        .find((part) => part.includes(`name="action" value="${action}"`))
      if (form === undefined) throw new Error(`the page has no button ${action}: ${body}`)
      const hidden = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
      const sent = new URLSearchParams({
        ...Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value])),
        ...fields,
        action,
      })
      const origin = new URL(url).origin
      return follow(await send(url, { method: 'POST', body: sent, headers: { origin } }))
    },
  }
}
