import type { DescField, Message } from '@bufbuild/protobuf'
import { compileGetter } from '../../text/field-value.ts'
import type { Paging } from '../schema/binding.ts'
import { decodeForm } from '../schema/percent.ts'

/** The headers of one page of a list. */
export interface PagingHeaders {
  /** `X-Total-Count`. */
  readonly total: string
  /** `Link` (RFC 8288). Undefined if there is only one page. */
  readonly link: string | undefined
}

/**
 * Returns the headers of a page.
 *
 * @param url URL of the request.
 */
export type PageWriter = (request: Message, response: Message, url: string) => PagingHeaders

/**
 * Compiles the paging headers of a method.
 *
 * @param spelling spelling of the page parameter in links if the request URL lacks it.
 */
export function compilePaging(paging: Paging, spelling: 'lowerCamel' | 'original'): PageWriter {
  const total = integerGetter(paging.total)
  const page = integerGetter(paging.page)
  const limit = integerGetter(paging.limit)
  const appliedLimit = paging.appliedLimit && integerGetter(paging.appliedLimit)
  const parameter: PageParameter = {
    names: [paging.page.name, paging.page.jsonName],
    added: spelling === 'original' ? paging.page.name : paging.page.jsonName,
  }
  return (request, response, url) => {
    const count = total(response)
    const size = appliedLimit?.(response) || limit(request)
    return {
      total: String(count),
      link: linkTo(url, parameter, page(request), lastPage(count, size)),
    }
  }
}

/** The names of the page parameter. */
interface PageParameter {
  readonly names: readonly string[]
  readonly added: string
}

function integerGetter(field: DescField): (message: Message) => bigint {
  const get = compileGetter(field)
  // The value is a number, a bigint, a decimal string with `jstype`, or undefined for an unset
  // member of a oneof.
  return (message) => BigInt((get(message) as bigint | number | string | undefined) ?? 0)
}

function lastPage(count: bigint, size: bigint): bigint {
  return size <= 0n ? 1n : (count + size - 1n) / size
}

function linkTo(
  url: string,
  parameter: PageParameter,
  requested: bigint,
  last: bigint,
): string | undefined {
  if (last <= 1n) return undefined
  const page = requested < 1n ? 1n : requested
  const links: string[] = []
  const add = (number: bigint, relation: string) => {
    links.push(`<${withPage(url, parameter, number)}>; rel="${relation}"`)
  }
  if (page < last) {
    add(page + 1n, 'next')
    add(last, 'last')
  }
  if (page > 1n) {
    add(1n, 'first')
    // The page before one beyond the end is the last page.
    add(page > last ? last : page - 1n, 'prev')
  }
  return links.join(',')
}

/** Returns the URL with another page. The rest of the URL stays as received. */
function withPage(url: string, { names, added }: PageParameter, page: bigint): string {
  const question = url.indexOf('?')
  if (question < 0) return `${url}?${added}=${page}`
  let replaced = false
  const pairs = url.slice(question + 1).split('&')
  const kept = pairs.map((pair) => {
    const name = pair.split('=', 1)[0] ?? ''
    if (!names.includes(decodeForm(name) ?? '')) return pair
    replaced = true
    return `${name}=${page}`
  })
  if (!replaced) kept.push(`${added}=${page}`)
  return `${url.slice(0, question)}?${kept.filter((pair) => pair !== '').join('&')}`
}

/** Characters that are invalid in a URI (RFC 3986) and would end it inside `<` and `>`. */
const unfitForLink = /[^\x21-\x7e]|[<>"\\^`{|}]/g

/**
 * Returns the URL of a request for links: the public base URL of the server with path and query as
 * received. Node returns bytes beyond ASCII as Latin-1; they are percent-encoded.
 */
export function publicRequestUrl(base: string, target: string): string {
  const slash = target.startsWith('/') ? 0 : target.indexOf('/', target.indexOf('://') + 3)
  const pathAndQuery = (slash < 0 ? '' : target.slice(slash)).replace(unfitForLink, (unfit) => {
    return `%${unfit.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })
  return (base.endsWith('/') ? base.slice(0, -1) : base) + pathAndQuery
}
