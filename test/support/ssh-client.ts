import { execFile, execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What the SSH client of this machine printed, and how it ended. */
export interface SshOutcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Whether this machine has the client of OpenSSH. */
export const hasSsh = isInstalled('ssh', '-V')

function isInstalled(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Creates a key pair in a folder, and returns the public key. */
export async function createSshKey(
  folder: string,
  name: string,
  ...options: string[]
): Promise<string> {
  const type = options.length > 0 ? options : ['-t', 'ed25519']
  execFileSync('ssh-keygen', ['-q', '-N', '', '-C', '', ...type, '-f', join(folder, name)])
  return (await readFile(join(folder, `${name}.pub`), 'utf8')).trim()
}

/** Options of `ssh` for a key and an empty list of known hosts, without those of this machine. */
export function sshOptions(folder: string, key: string | undefined, logLevel = 'ERROR'): string[] {
  return [
    '-F',
    'none',
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    `UserKnownHostsFile=${join(folder, 'known_hosts')}`,
    '-o',
    'IdentityAgent=none',
    '-o',
    'BatchMode=yes',
    '-o',
    `LogLevel=${logLevel}`,
    ...(key === undefined ? [] : ['-o', 'IdentitiesOnly=yes', '-i', join(folder, key)]),
  ]
}

/** Runs `ssh`. */
export function runSsh(args: readonly string[]): Promise<SshOutcome> {
  return new Promise((resolve) => {
    const child = execFile('ssh', [...args], (error, stdout, stderr) => {
      const code = error ? (typeof error.code === 'number' ? error.code : -1) : 0
      resolve({ code, stdout, stderr })
    })
    child.stdin?.end()
  })
}
