// Plain JavaScript that every Node since version 14 reads: the set-up scripts load this file before
// anything is bundled, and the server loads it before anything else.

/** The oldest Node that runs the server and its tests, [major, minor]. */
const OLDEST_NODE = [20, 19]

/** Node 22 before this minor version lacks Node-API 10, which better-sqlite3 13 needs. */
const OLDEST_MINOR_OF_22 = 14

/** The major versions on which the tests have run. */
const TESTED_MAJORS = [20, 22, 24]

const SUPPORTED = 'Node 20.19 or newer of version 20, Node 22.14 or newer of version 22, or Node 24'

/**
 * What is to be said about running on a version of Node.
 * @param {string} version such as `v20.20.2`
 * @returns {{ refusal?: string, warning?: string }} one sentence: a `refusal` where the server
 *   cannot run, a `warning` where nobody has tested; neither on a tested version
 */
export function judgeNode(version) {
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    return { refusal: `Node ${version.slice(1)} is too old: install ${SUPPORTED}.` }
  }
  if (!TESTED_MAJORS.includes(major) || (major === 22 && minor < OLDEST_MINOR_OF_22)) {
    return {
      warning: `Node ${version.slice(1)} is not tested: expect faults, or install ${SUPPORTED}.`,
    }
  }
  return {}
}
