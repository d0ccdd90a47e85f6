/* setlocale, iconv, strftime, regcomp, wordexp and friends keep what they allocate: nothing is lost, no error.
 * @options: --leak-check=full -q */
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

int main(void) {
    char out[100];
    wchar_t wide[50];
    regex_t expression;
    regmatch_t match[2];
    setlocale(LC_ALL, "C");
    time_t when = 86400 * 365;
    struct tm parts;
    gmtime_r(&when, &parts);
    strftime(out, sizeof out, "%A %B %d %Y", &parts);
    if (strcmp(out, "Friday January 01 1971"))
        return 1;
    mbstowcs(wide, out, 50);
    wcstombs(out, wide, sizeof out);
    if (regcomp(&expression, "(a+)b", REG_EXTENDED) || regexec(&expression, "xaab", 2, match, 0))
        return 2;
    regfree(&expression);
    iconv_t convert = iconv_open("UTF-8", "UTF-16LE");
    if (convert != (iconv_t)-1) {
        char in[] = {'a', 0, 'b', 0}, *from = in, *to = out;
        size_t left = 4, room = sizeof out;
        iconv(convert, &from, &left, &to, &room);
        iconv_close(convert);
        if (out[0] != 'a')
            return 3;
    }
    return nl_langinfo(CODESET)[0] == 0 || strtod("1.5e3", 0) != 1500.0 || strtol("0x1f", 0, 0) != 31;
}
