import { type HeaderList, isProtocolHeader, LazyHeaders } from './headers.ts'

/**
 * Returns the headers that a call set, without protocol headers. Trailers become headers with the
 * prefix `Trailer-`, as in the Connect protocol.
 */
export function metadataOf(header: Headers, trailer?: Headers): HeaderList {
  const headers: HeaderList = []
  if (!isUntouched(header)) {
    header.forEach((value, name) => {
      if (!isProtocolHeader(name)) headers.push(name, value)
    })
  }
  if (trailer !== undefined && !isUntouched(trailer)) {
    trailer.forEach((value, name) => {
      headers.push(`Trailer-${name}`, value)
    })
  }
  return headers
}

function isUntouched(header: Headers): boolean {
  return header instanceof LazyHeaders && header.untouched
}
