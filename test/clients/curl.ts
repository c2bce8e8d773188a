import { run } from './program.ts'

/** An answer as curl saw it. */
export interface CurlAnswer {
  readonly status: number
  /** As in the status line: `1.1` or `2`. */
  readonly httpVersion: string
  readonly headers: Headers
  /** The content; decoded if curl was asked to. */
  readonly text: string
}

/** HTTP/1.1 answers have a reason phrase, HTTP/2 answers only its blank. */
const STATUS_LINE = /^HTTP\/(\S+) (\d{3})/

/**
 * Makes a request with curl.
 *
 * @param args options and the URL. Settings of whoever runs the tests, and proxies, are left out.
 * @param input what `@-` stands for.
 * @throws Error with what curl says when there is no answer.
 */
export async function curl(args: readonly string[], input?: string | Buffer): Promise<CurlAnswer> {
  const { code, stdout, stderr } = await run(
    'curl',
    ['--disable', '--noproxy', '*', '--silent', '--show-error', '--include', ...args],
    input,
  )
  if (code !== 0) throw new Error(stderr)
  let rest = stdout.toString('latin1')
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    rest = rest.slice(end + 4)
    const [, httpVersion = '', status] = STATUS_LINE.exec(first) ?? []
    // Interim answers, such as 100 Continue, come before the answer.
    if (Number(status) < 200) continue
    const headers = new Headers(lines.map((line): [string, string] => split(line, ':')))
    return {
      status: Number(status),
      httpVersion,
      headers,
      text: Buffer.from(rest, 'latin1').toString('utf8'),
    }
  }
}

function split(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator)
  return [line.slice(0, at), line.slice(at + 1).trim()]
}

/** Arguments that send a JSON text: a POST unless another method is named. */
export function sendJson(value: unknown): string[] {
  return ['--header', 'content-type: application/json', '--data-raw', JSON.stringify(value)]
}
