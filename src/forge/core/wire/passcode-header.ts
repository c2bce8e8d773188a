/** The header of this API, then the headers that clients of compatible forges send. */
const PASSCODE_HEADERS = ['x-service-otp', 'x-gitea-otp', 'x-forgejo-otp']

/**
 * Returns the one-time passcode that a client sends with a password in a header, for requests that
 * have no field for the passcode. Empty when there is none.
 */
export function readPasscodeHeader(headers: Pick<Headers, 'get'>): string {
  for (const name of PASSCODE_HEADERS) {
    const passcode = headers.get(name)
    if (passcode !== null) return passcode
  }
  return ''
}
