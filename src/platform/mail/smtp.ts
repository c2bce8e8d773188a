import { readFile } from 'node:fs/promises'
import { createTransport } from 'nodemailer'
import { type MailResult, type MailTransport, printMessage } from './mail.ts'

/** A mail server and how to sign in there. */
export interface SmtpAddress {
  readonly host: string
  readonly port: number
  /** `implicit`: TLS from the first byte. `starttls`: required before anything is sent. */
  readonly tls: 'implicit' | 'starttls' | 'none'
  /** Undefined for no sign-in. */
  readonly user?: string | undefined
  /** File with the password, which is read at each connection. */
  readonly passwordFile?: string | undefined
}

/** The maximum time for a connection, for a greeting, and between two answers. */
const TIMEOUT_MS = 20_000

/** Codes of failures of one message rather than of the server or its settings. */
const MESSAGE_FAILURES: ReadonlySet<unknown> = new Set(['EENVELOPE', 'EMESSAGE'])

/**
 * Creates the client of a mail server (RFC 5321, RFC 3207, RFC 4954). Each message takes a
 * connection, since messages are rare. The certificate of the server must be valid.
 *
 * @param now returns Unix milliseconds for Date headers.
 */
export function openMailServer(address: SmtpAddress, now: () => number): MailTransport {
  const { host, port, tls } = address
  return {
    async send(message) {
      try {
        const transport = createTransport({
          host,
          port,
          secure: tls === 'implicit',
          requireTLS: tls === 'starttls',
          ignoreTLS: tls === 'none',
          connectionTimeout: TIMEOUT_MS,
          greetingTimeout: TIMEOUT_MS,
          socketTimeout: TIMEOUT_MS,
          ...(await credentialsOf(address)),
        })
        await transport.sendMail({
          envelope: { from: message.from, to: [message.to] },
          raw: printMessage(message, new Date(now())),
        })
        return { kind: 'accepted' }
      } catch (error) {
        return resultOf(error)
      }
    },
  }
}

async function credentialsOf({ user, passwordFile }: SmtpAddress) {
  if (user === undefined) return {}
  const pass = passwordFile === undefined ? '' : await readFile(passwordFile, 'utf8')
  return { auth: { user, pass: pass.replace(/\r?\n$/, '') } }
}

/**
 * Returns what a failure means. Permanent replies about the message are final (RFC 5321 section
 * 4.2.1). All others, such as those to a wrong password, can end when the operator does something.
 */
function resultOf(error: unknown): MailResult {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  const status = typeof responseCode === 'number' ? responseCode : undefined
  const isFinal = MESSAGE_FAILURES.has(code) && (status === undefined || status >= 500)
  const reason = status === undefined ? String(code ?? error) : `status ${status}`
  return { kind: isFinal ? 'refused' : 'deferred', reason }
}
