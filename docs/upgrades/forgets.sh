# A job that Scrapy 2.18 has finished is crawled whole again by 2.19, at each start.
cd "$(mktemp -d)"
for release in 2.18.0 2.19.0; do python3 -m venv $release && $release/bin/pip install --quiet scrapy==$release; done
cat > spider.py <<'END'
import scrapy
class Spider(scrapy.Spider):
    name = "example"
    async def start(self):
        for number in range(9):
            yield scrapy.Request(f"data:,{number}")
    def parse(self, response):
        print(response.url)
END
for release in 2.18.0 2.18.0 2.19.0 2.19.0; do
    echo "Scrapy $release: $($release/bin/scrapy runspider spider.py --nolog -s JOBDIR=job | wc -l) of 9 pages"
done
# Scrapy 2.18.0: 9 of 9 pages
# Scrapy 2.18.0: 0 of 9 pages
# Scrapy 2.19.0: 9 of 9 pages
# Scrapy 2.19.0: 9 of 9 pages
