import type { App } from '../forge/app.ts'
import {
  isUnsubscribeToken,
  UNSUBSCRIBE_PATH,
  unsubscribe,
} from '../forge/notifications/unsubscribe.ts'
import { html } from '../platform/http/html.ts'
import type { HttpRequest, HttpResponse } from '../platform/http/requests.ts'
import { toConnectError } from './errors.ts'
import { type EndpointReply, queryOf, readForm, sendEndpointReply } from './oauth2/exchange.ts'
import { pageReply } from './oauth2/page.ts'

/** Answers requests for the page that ends notifications. */
export interface UnsubscribePage {
  readonly isPage: (path: string) => boolean
  readonly answer: (request: HttpRequest, response: HttpResponse) => void
}

/** The field of the form that says what to end. */
const FIELD = 'end'
const ALL_MAILS = 'all-mails'

/**
 * Creates the page that links in mails open. GET changes nothing, since programs follow links in
 * mails. POST needs no sign-in: mail clients send it with one click (RFC 8058 section 3.2), and the
 * token of the link is the permission. The page says nothing about the account or the conversation,
 * since whoever has the mail can open the link.
 */
export function createUnsubscribePage(app: App): UnsubscribePage {
  return {
    isPage: (path) => path === UNSUBSCRIBE_PATH,
    answer(request, response) {
      reply(app, request).then(
        (made) => sendEndpointReply(response, made),
        (err: unknown) => {
          app.log.error({ err }, 'a link of a mail failed')
          response.destroy()
        },
      )
    },
  }
}

async function reply(app: App, request: HttpRequest): Promise<EndpointReply> {
  const token = new URLSearchParams(queryOf(request)).get('token') ?? ''
  if (request.method === 'GET' || request.method === 'HEAD')
    return isUnsubscribeToken(app, token) ? askingPage() : unknownPage()
  if (request.method !== 'POST') {
    request.resume()
    return { status: 405, headers: { allow: 'GET, HEAD, POST' }, body: '' }
  }
  try {
    // Mail clients may send another type of form, whose content does not matter.
    const form = await readForm(request)
    const what = form?.get(FIELD) === ALL_MAILS ? 'all mails' : 'conversation'
    if (!(await unsubscribe(app, token, what))) return unknownPage()
    app.log.info({ what }, 'a link of a mail ended notifications')
    return donePage(what)
  } catch (thrown) {
    const { rawMessage } = toConnectError(thrown)
    app.log.warn({ err: thrown }, 'a link of a mail could not end notifications')
    return problemPage(503, `${rawMessage}. Please try again later.`)
  }
}

function askingPage(): EndpointReply {
  return pageReply({
    status: 200,
    title: 'Notifications',
    main: html`<p>Do you want to hear no more of this issue or pull request? If somebody mentions you, it still
 appears among your notifications, without a mail.</p>
<form method="post">
<button class="main" name="${FIELD}" value="conversation">No more of this conversation</button>
<button name="${FIELD}" value="${ALL_MAILS}">No more mails about any issue or pull request</button>
</form>`,
  })
}

function donePage(what: 'conversation' | 'all mails'): EndpointReply {
  return pageReply({
    status: 200,
    title: 'Notifications',
    main:
      what === 'conversation'
        ? html`<p>You will get no more mails about this issue or pull request.</p>`
        : html`<p>You will get no more mails about issues and pull requests.</p>`,
  })
}

function unknownPage(): EndpointReply {
  return problemPage(404, 'This server has not sent this link.')
}

function problemPage(status: number, problem: string): EndpointReply {
  return pageReply({
    status,
    title: 'Notifications',
    main: html`<p class="problem">${problem}</p>`,
  })
}
