import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execFileSync, runProgram, textOf } from './programs.ts'

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
    execFileSync(program, args)
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
export async function runSsh(args: readonly string[]): Promise<SshOutcome> {
  const { status, stdout, stderr } = await runProgram('ssh', args)
  return { code: status ?? -1, stdout: textOf(stdout), stderr: textOf(stderr) }
}
