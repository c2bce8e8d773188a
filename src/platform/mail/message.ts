import MimeNode from 'nodemailer/lib/mime-node'
import type { Mail, MailList } from './mail.ts'

/**
 * Returns the message in the format of RFC 5322, with CRLF at the end of lines.
 *
 * The text is not encoded. Encodings that wrap long lines would break links for operators who read
 * the file.
 */
export function printMessage({ from, to, subject, text, list }: Mail, date: Date): string {
  const head = new MimeNode('text/plain; charset=utf-8', { hostname: domainOf(from) })
  head.date = date
  // An address in this form is not parsed, so that its text can add neither a second address nor a
  // header.
  head.setHeader({
    From: { name: '', address: from },
    To: { name: '', address: to },
    Subject: subject,
  })
  head.setHeader('Content-Transfer-Encoding', '8bit')
  if (list) addList(head, list)
  // Asks mail servers to send no automatic replies (RFC 3834 section 5.2).
  head.setHeader('Auto-Submitted', 'auto-generated')
  return `${head.buildHeaders()}\r\n\r\n${text.replaceAll('\n', '\r\n')}`
}

function addList(head: MimeNode, list: MailList): void {
  const { name, id, unsubscribeUrl, messageId, threadId } = list
  // Prepared, since the values are no addresses that nodemailer could parse.
  const set = (key: string, value: string) => head.setHeader({ [key]: { prepared: true, value } })
  set('List-Id', `"${name}" <${id}>`)
  set('List-Unsubscribe', `<${unsubscribeUrl}>`)
  set('List-Unsubscribe-Post', 'List-Unsubscribe=One-Click')
  set('Message-ID', `<${messageId}>`)
  if (threadId === undefined) return
  set('In-Reply-To', `<${threadId}>`)
  head.setHeader('References', `<${threadId}>`)
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}
