import type { Catalogue } from '../language/catalogue.ts'
import { germanReasons } from './german-reasons.ts'

/** Texts of calls to the server and their failures, in German. */
export const german = {
  'Ask a reviewer to approve the changes.':
    'Bitten Sie einen Reviewer, die Änderungen zu genehmigen.',
  'Check the name and the password, then try again.':
    'Prüfen Sie Name und Passwort, und versuchen Sie es noch einmal.',
  'Make the requested changes, or ask the reviewer to review again.':
    'Nehmen Sie die angeforderten Änderungen vor, oder bitten Sie um ein neues Review.',
  'Type your present password or a passcode. Without both, sign out and in again first.':
    'Geben Sie Ihr jetziges Passwort oder einen Einmalcode ein. Wenn Sie beides nicht haben, melden Sie sich erst ab und wieder an.',
  'Use another address.': 'Verwenden Sie eine andere Adresse.',
  'Open the page on the machine of the server, or use the command below.':
    'Öffnen Sie die Seite auf dem Rechner des Servers, oder verwenden Sie den Befehl unten.',
  'Add the signature that proves that the key is yours, or set your e-mail address to one of the key.':
    'Fügen Sie die Signatur hinzu, die beweist, dass der Schlüssel Ihnen gehört, oder wählen Sie als E-Mail-Adresse eine des Schlüssels.',
  'Run the command again, and paste all of its output.':
    'Führen Sie den Befehl noch einmal aus, und fügen Sie die ganze Ausgabe ein.',
  'Choose that the content is deleted too, or delete or transfer it first.':
    'Wählen Sie, dass auch die Inhalte gelöscht werden, oder löschen oder übertragen Sie diese zuerst.',
  'Update the branch of the pull request from its target first.':
    'Aktualisieren Sie zuerst den Branch des Pull-Requests von seinem Ziel her.',
  'New commits have arrived. Look at them, then merge again.':
    'Es gibt neue Commits. Sehen Sie diese an, und führen Sie dann noch einmal zusammen.',
  'Add the address again, and open the link of the new mail.':
    'Fügen Sie die Adresse noch einmal hinzu, und öffnen Sie den Link der neuen E-Mail.',
  'Paste the whole output of the command, with its first and last line.':
    'Fügen Sie die ganze Ausgabe des Befehls ein, mit der ersten und der letzten Zeile.',
  'Ask for a new mail.': 'Fordern Sie eine neue E-Mail an.',
  'Paste the one line of the file that ends in .pub.':
    'Fügen Sie die eine Zeile der Datei ein, deren Name auf .pub endet.',
  'Make another member an owner of the organisation, or delete the organisation first.':
    'Machen Sie zuerst ein anderes Mitglied zum Eigentümer der Organisation, oder löschen Sie die Organisation.',
  'Make another user an administrator first.':
    'Machen Sie zuerst einen anderen Benutzer zum Administrator.',
  'Ask the administrator to configure mail.': 'Bitten Sie den Administrator, E-Mail einzurichten.',
  'Merge the target branch into this one, resolve the conflicts, and push.':
    'Führen Sie den Ziel-Branch mit diesem zusammen, lösen Sie die Konflikte, und pushen Sie.',
  'Ask somebody who may write to the repository.':
    'Bitten Sie jemanden, der in das Repository schreiben darf.',
  'Leave the protected files as they are, or ask an administrator.':
    'Lassen Sie die geschützten Dateien, wie sie sind, oder bitten Sie einen Administrator.',
  'Push new commits, or close the pull request.':
    'Pushen Sie neue Commits, oder schließen Sie den Pull-Request.',
  'Remove the mark of unfinished work from the title first.':
    'Entfernen Sie zuerst das Kennzeichen für unfertige Arbeit aus dem Titel.',
  'Use the pull request that these branches have.':
    'Verwenden Sie den Pull-Request, den diese Branches haben.',
  'Rebase the branch, resolve the conflicts, and push.':
    'Führen Sie einen Rebase des Branches aus, lösen Sie die Konflikte, und pushen Sie.',
  'Wait for the requested reviews.': 'Warten Sie auf die angeforderten Reviews.',
  'Use a key of its own for each account.':
    'Verwenden Sie für jedes Konto einen eigenen Schlüssel.',
  'Wait until the required checks have succeeded.':
    'Warten Sie, bis die verlangten Prüfungen erfolgreich sind.',
  'Type the six digits that the app shows now. Each of them works once.':
    'Geben Sie die sechs Ziffern ein, die die App jetzt zeigt. Jeder Code gilt einmal.',
  'Choose a longer password that is not the username.':
    'Wählen Sie ein längeres Passwort, das nicht der Benutzername ist.',
  'Check the address. If it is private, sign in with an account that may see it.':
    'Prüfen Sie die Adresse. Ist der Inhalt privat, melden Sie sich mit einem Konto an, das ihn sehen darf.',
  'Sign in, then try again.': 'Melden Sie sich an, und versuchen Sie es noch einmal.',
  'Ask an owner of the repository for access.':
    'Bitten Sie einen Eigentümer des Repositorys um Zugriff.',
  'Correct the input, then try again.':
    'Berichtigen Sie die Eingabe, und versuchen Sie es noch einmal.',
  'Wait a while, then try again.': 'Warten Sie etwas, und versuchen Sie es noch einmal.',
  'Try again.': 'Versuchen Sie es noch einmal.',
  'Check the connection, or wait a few seconds, then try again.':
    'Prüfen Sie die Verbindung, oder warten Sie ein paar Sekunden, und versuchen Sie es noch einmal.',
  'This page is out of date': 'Diese Seite ist veraltet',
  'A part of this page has not loaded': 'Ein Teil dieser Seite wurde nicht geladen',
  'The server has another version. Keep a copy of what you have typed, then reload the page.':
    'Der Server hat eine andere Version. Sichern Sie, was Sie eingegeben haben, und laden Sie die Seite neu.',
  'Keep a copy of what you have typed, then reload the page.':
    'Sichern Sie, was Sie eingegeben haben, und laden Sie die Seite neu.',
  'This page has a fault': 'Diese Seite hat einen Fehler',
  'Reload the page. If the fault comes again, tell the administrator the reason.':
    'Laden Sie die Seite neu. Tritt der Fehler wieder auf, nennen Sie dem Administrator den Grund.',
  'the server does not answer': 'der Server antwortet nicht',
  'the server has answered with status {status}':
    'der Server hat mit dem Status {status} geantwortet',
  'the server is not ready': 'der Server ist nicht bereit',
  'the server has ended the upload': 'der Server hat das Hochladen beendet',
  'the upload was stopped': 'das Hochladen wurde abgebrochen',
  'this browser stores nothing for the server': 'dieser Browser speichert nichts für den Server',
  'no sign-in of this tab waits for this answer':
    'keine Anmeldung dieses Tabs wartet auf diese Antwort',
  'the provider refused the sign-in: {why}': 'der Anbieter hat die Anmeldung abgelehnt: {why}',
  'it gave no reason': 'er hat keinen Grund genannt',
  ...germanReasons,
} satisfies Catalogue
